"""Reports on residual networks: what they say, on both sides of each threshold, and what they leave out."""

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.critical import criticality
from finitewidth.networks import ResidualMLP
from finitewidth.reports.sections.criticality import about_criticality, is_tuned
from finitewidth.reports.sections.in_short import about_residual_in_short, of_scattered_signals, verdict_with_skips

X = np.array([[1.0, 0.5], [0.3, -1.0]])


@pytest.fixture(scope="module")
def net():
    return fw.tune(ResidualMLP("tanh", width=16, depth=4, gamma=0.6, outputs=1))


@pytest.fixture(scope="module")
def made(net):
    return fw.report(net, X, networks=400, seed=3)


def test_sections_that_apply(made, net):
    """PDLT (B.11): the numbers are those of `flow`; nothing is said of training."""
    assert set(made.data) == {"meta", "network", "in_short", "criticality", "layers", "validity", "agreement", "words"}
    theory = fw.flow(net, X)
    np.testing.assert_allclose(np.array(made.data["layers"]["K"])[:, 0], theory.K[:, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(np.array(made.data["layers"]["V"])[:, 0], theory.V[:, 0, 0, 0, 0], rtol=1e-12)
    assert made.data["network"]["gamma"] == 0.6
    assert made.data["network"]["widths"] == [2, 16, 16, 16, 1]
    assert made.data["criticality"]["tuned"]
    said = made.to_html()
    assert "tanh residual MLP of 4 layers" in said
    assert "gamma = 0.6" in said
    assert "layers with a skip take 1 - gamma² = 0.64 times as much" in said


def test_tuned_is_what_tune_sets(net):
    """PDLT (B.21): at 1 - gamma^2 in layers with a skip, and nowhere else."""
    verdict = criticality("tanh")
    assert is_tuned(net, verdict)
    assert not is_tuned(net.replace(C_W=np.ones(4)), verdict)
    assert not is_tuned(net.replace(C_W=np.full(4, 0.64)), verdict)
    assert not is_tuned(net.replace(gamma=0.5), verdict)
    assert not is_tuned(net.replace(gamma=1.0, C_W=np.array([1.0, 0.0, 0.0, 1.0])), verdict)


@pytest.mark.parametrize(
    ("gamma", "expected"), [(0.6, "take 1 - gamma² = 0.64 times"), (-1.0, "at gamma² >= 1 no network is critical")]
)
def test_what_skips_make_of_the_point(net, gamma, expected):
    """In words."""
    assert expected in about_criticality(net.replace(gamma=gamma), criticality("tanh")).parts[0].text


@pytest.mark.parametrize(
    ("depth", "gamma", "tuned", "tunable", "expected"),
    [
        (1, 0.5, True, True, "One layer"),
        (4, 0.5, True, True, "At the critical point"),
        (4, 0.5, False, True, "`fw.tune` sets"),
        (4, 0.999, False, True, "`fw.tune` sets"),
        (4, 1.0, False, True, "no network with gamma² >= 1"),
        (4, 0.5, False, False, "no critical point"),
    ],
)
def test_headlines(depth, gamma, tuned, tunable, expected):
    """By criticality alone."""
    assert expected in verdict_with_skips(depth, gamma, tuned, tunable)[0]


def test_signals_of_networks_that_differ(made):
    """Where the first order is no measure, nothing is said of its size."""
    net, kernel = made.theory.net, np.array([1.0, 1.0])
    for fluctuation, expected in ((0.09, "give or take 30 %"), (0.11, "by about a third or more")):
        section = about_residual_in_short(net, True, True, kernel, fluctuation, made.comparison)
        assert expected in section.data["lines"][0]
    said = of_scattered_signals(np.array([2.0, 1.0, 0.1]))
    assert said.startswith("Signals of infinitely wide networks shrink")
    assert "from 2 to 0.1" in said
