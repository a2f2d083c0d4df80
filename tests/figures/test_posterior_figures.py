"""Pictures of posteriors and of evidence show what was computed."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot

from finitewidth import figures, learning
from finitewidth.results import Measurement, Posterior

AT = np.array([0.0, 1.0, 2.0])


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def made_up(order, mean):
    """Of two outputs, with variance 0.25 and 1."""
    means = np.stack([mean, -mean], axis=1)
    own, wiring = np.diag([0.25] * 3), np.zeros((3, 3, 2, 2))
    wiring[:, :, 1, 1] = 0.75 * np.eye(3)
    how = {"log_evidence": np.asarray(-1.0), "representation": None, "net": None, "noise": 0.0}
    if order is not None:
        return Posterior(means, own, wiring, order=order, **how)
    whole = own[:, :, None, None] * np.eye(2) + wiring
    parts = [Measurement(part, 0 * part) for part in (means, own, wiring, whole)]
    return Posterior(*parts, effective_networks=20.0, **how)


@pytest.mark.parametrize(("output", "deviation"), [(0, 0.5), (1, 1.0)])
def test_bands_are_one_standard_deviation(output, deviation):
    theory, measured = made_up(1, AT + 0.1), made_up(None, AT)
    axes = figures.posterior_bands([theory, measured], AT, output=output, train=[[0.5, 3.0]])
    line, low, high, *_ = axes.get_lines()
    sign = 1 - 2 * output
    np.testing.assert_allclose(line.get_ydata(), sign * (AT + 0.1))
    np.testing.assert_allclose(high.get_ydata() - low.get_ydata(), 2 * deviation)
    bars = axes.containers[0]
    np.testing.assert_allclose(bars.lines[0].get_ydata(), sign * AT)
    np.testing.assert_allclose([np.ptp(bar[:, 1]) for bar in bars.lines[2][0].get_segments()], 2 * deviation)
    words = {text.get_text() for text in axes.get_legend().get_texts()}
    assert words == {r"to order $1/n$", "real networks", "told"}


def test_a_posterior_draws_itself():
    assert made_up(0, AT).plot().get_xlabel() == "test sample"


def test_evidence_by_depth():
    """A line for each depth, gaps where there is no number, a dot at the best."""
    values = np.array([[[-3.0, -9.0], [-1.0, -np.inf], [-2.0, -4.0]]])
    scan = learning.EvidenceScan(np.zeros(1), AT, (2, 5), values)
    axes = scan.plot()
    shallow, dot, deep, other = axes.get_lines()
    np.testing.assert_array_equal(shallow.get_ydata(), values[0, :, 0])
    assert (dot.get_xdata()[0], dot.get_ydata()[0]) == (1.0, -1.0)
    assert np.isnan(deep.get_ydata()[1])
    assert (other.get_xdata()[0], other.get_ydata()[0]) == (2.0, -4.0)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["L = 2", "L = 5"]
