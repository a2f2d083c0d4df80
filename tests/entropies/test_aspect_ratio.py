"""The optimal depth over width as printed, and what its truncation hides."""

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.entropies import optimal_ratio
from finitewidth.entropies.aspect_ratio import log_normal_information, series


@pytest.mark.parametrize(("activation", "expected"), [("linear", 0.04), ("relu", 0.016), ("tanh", 0.12)])
def test_optimal_ratios(activation, expected):
    """PDLT (A.73)-(A.74) for ten outputs."""
    found = fw.aspect_ratio(fw.MLP(activation, (2, *[100] * 5, 10)))
    assert found.optimum == pytest.approx(expected, rel=1e-6)
    assert found.maximum == pytest.approx(1 / 150, rel=1e-12)
    assert found.layers == pytest.approx(1 + 100 * expected, rel=1e-6)
    assert found.ratio == pytest.approx(0.05)
    assert found.coupling == pytest.approx(found.nu * 0.05)
    assert (found.exact is None) is (activation == "tanh")
    assert ("not known" in str(found)) is (activation == "tanh")
    assert f"r* = {expected:g}" in str(found)
    assert optimal_ratio(1.0, 10**9)[1] == pytest.approx(1 / 54, rel=1e-6)


def test_the_optimum_is_the_maximum_of_the_truncated_series():
    """PDLT (A.71)-(A.72): there the second term is two thirds of the first."""
    e = np.linspace(0, 0.2, 200_001)
    leading, truncated, _ = series(e, 10, consistent=False)
    at = int(np.argmax(truncated))
    assert e[at] == pytest.approx(optimal_ratio(1.0, 10)[0], abs=2e-6)
    assert truncated[at] == pytest.approx(optimal_ratio(1.0, 10)[1], rel=1e-8)
    assert (leading[at] - truncated[at]) / leading[at] == pytest.approx(2 / 3, rel=1e-4)


def test_the_exact_information_has_no_maximum():
    """PDLT (A.71) against the log-normal limit for one neuron and one: twice as much at the optimum, and growing."""
    found = log_normal_information(np.array([0.154, 0.5, 1.0, 4.0]), 2)
    np.testing.assert_allclose(found, [0.0020, 0.0131, 0.034, 0.160], rtol=0.04)
    assert optimal_ratio(1.0, 2)[0] == pytest.approx(0.154, abs=5e-4)
    assert optimal_ratio(1.0, 2)[1] == pytest.approx(0.0010, abs=5e-5)
    exact = fw.aspect_ratio(fw.MLP("relu", (2, 100, 100, 10))).exact
    assert (np.diff(exact) > 0).all()


@pytest.mark.parametrize("outputs", [2, 10])
def test_the_consistent_series_is_that_of_the_exact_curve(outputs):
    r"""PDLT (A.71) with $\varepsilon = e^{\nu r}-1$: what it leaves out is of fourth order, what the printed one leaves out of third."""
    e = np.array([2e-3, 4e-3]) * 2 / outputs
    exact = log_normal_information(e, outputs)
    _, printed, consistent = series(e, outputs, consistent=True)
    orders = [np.log2((exact - each)[1] / (exact - each)[0]) for each in (printed, consistent)]
    np.testing.assert_allclose(orders, [3, 4], atol=0.1)


def test_residual_networks():
    """PDLT (B.36)-(B.37) with the complete nu: at the optimal gamma the optimum is the network's own depth over width."""
    net = fw.ResidualMLP("relu", width=100, depth=11, gamma=0.7, outputs=10)
    found = fw.aspect_ratio(net)
    assert found.nu == pytest.approx(fw.critical.residual_nu("relu", 0.7), rel=1e-12)
    again = fw.aspect_ratio(net.replace(gamma=found.optimal_gamma))
    assert again.optimum == pytest.approx(again.ratio, rel=1e-9)
    assert "skip connections further terms" in str(found)
    assert fw.aspect_ratio(fw.MLP("tanh", (2, 100, 100, 10))).optimal_gamma == 0.0


def test_refusals():
    with pytest.raises(fw.ArgumentError, match="hidden layers"):
        fw.aspect_ratio(fw.MLP("relu", (2, 1)))
    for norm in ("rms", "layer"):
        with pytest.raises(fw.ArgumentError, match=f"`net`.*norm='{norm}'"):
            fw.aspect_ratio(fw.ResidualMLP("relu", width=8, depth=4, gamma=0.5, norm=norm))
    with pytest.raises(fw.NotTunableError):
        fw.aspect_ratio(fw.MLP("sigmoid", (2, 8, 1)))
    with pytest.raises(fw.ArgumentError, match="`nu`"):
        optimal_ratio(0.0, 10)
