"""Pictures of the tangent kernel show what was computed."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot

from finitewidth._errors import ArgumentError
from finitewidth.critical.one_input.tangent_single_input import Ratios, TangentSingleInputFlow
from finitewidth.expansion.tangent_layers import TangentContributions
from finitewidth.figures.tangent_contributions import tangent_contributions
from finitewidth.figures.tangent_ratios import tangent_ratios


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def test_ratios_and_their_laws():
    """PDLT (9.23)-(9.27): a solid line and a dashed law for each coupling, from the second layer on."""
    K, theta, V, D, F, B, A = np.random.default_rng(0).uniform(1, 2, size=(7, 5))
    flow = TangentSingleInputFlow(K, theta, V, -D, F, B, A)
    axes = tangent_ratios(flow, Ratios(2.0, -3.0, 4.0, 5.0, 6.0), title="made up")
    solid = {line.get_label(): line for line in axes.get_lines() if line.get_linestyle() == "-"}
    np.testing.assert_allclose(solid[r"$|D|/K\Theta$"].get_ydata(), (D / (K * theta))[1:], rtol=1e-14)
    np.testing.assert_allclose(solid[r"$A/\Theta^2$"].get_ydata(), (A / theta**2)[1:], rtol=1e-14)
    laws = [line.get_ydata() for line in axes.get_lines() if line.get_linestyle() == "--"]
    dashed = [law[0] / 2 for law in laws if len(law)]
    assert sorted(dashed) == [2, 3, 4, 5, 6]
    assert axes.get_title() == "made up"
    assert len(tangent_ratios(flow).get_lines()) == 5


def test_contributions_times_depth():
    """PDLT (9.28): biases and weights of one input."""
    bias, weight = np.random.default_rng(1).uniform(size=(2, 4, 2, 2))
    made_up = TangentContributions(bias, weight, bias, weight, bias)
    axes = tangent_contributions(made_up, sample=1)
    drawn = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    np.testing.assert_allclose(drawn["biases"], 4 * bias[:, 1, 1])
    np.testing.assert_allclose(drawn["weights"], 4 * weight[:, 1, 1])
    with pytest.raises(ArgumentError, match="sample"):
        tangent_contributions(made_up, sample=2)
