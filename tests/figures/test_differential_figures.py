"""The picture of the tangent kernel's differentials shows what was computed."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot

from finitewidth.critical import DifferentialRatios, DifferentialSingleInputFlow
from finitewidth.figures import differential_ratios


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def test_ratios_and_their_laws():
    """PDLT (11.62), (∞.21): a solid line for each coupling that does not vanish, and a dashed law where there is a slope."""
    K, theta, F, B, P, Q, R, S, T, U = np.random.default_rng(0).uniform(1, 2, size=(10, 5))
    flow = DifferentialSingleInputFlow(K, theta, F, B, -P, Q, R, S, 0 * T, U)
    axes = differential_ratios(flow, DifferentialRatios(-2.0, 3.0, 4.0, 5.0, 6.0, 0.0), title="made up")
    solid = {line.get_label(): line for line in axes.get_lines() if line.get_linestyle() == "-"}
    assert len(solid) == 5
    np.testing.assert_allclose(solid[r"$|P|/\Theta^2$"].get_ydata(), (P / theta**2)[1:], rtol=1e-14)
    np.testing.assert_allclose(solid[r"$|U|K/\Theta^3$"].get_ydata(), (U * K / theta**3)[1:], rtol=1e-14)
    laws = [line.get_ydata() for line in axes.get_lines() if line.get_linestyle() == "--"]
    assert sorted(law[0] / 2 for law in laws if len(law)) == [2, 3, 4, 5]
    assert axes.get_title() == "made up"
    kinked = DifferentialSingleInputFlow(K, theta, F, B, 0 * P, Q)
    assert len(differential_ratios(kinked).get_lines()) == 1
    assert len(kinked.plot().get_lines()) == 1
