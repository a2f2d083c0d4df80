"""Typical networks: theory's quantiles against measured ones, and both against laws that are known."""

import numpy as np
import pytest
from scipy import stats

import finitewidth as fw
from finitewidth.ensembles.typical import typical_networks
from finitewidth.exact.typical import typical_scale_invariant

X = np.array([[1.0, -0.5, 0.8]])


def network(activation, width=30, depth=20, **settings):
    return fw.MLP(activation, (3, *[width] * (depth - 1), 1), **settings)


def test_one_layer_of_a_linear_network_is_a_chi_square():
    """The kernel of layer 2 is K1 times a chi-square over n, and the gradient of layer 1 a chi-square over n."""
    net = network("linear", 12, 2)
    law = stats.chi2(12, scale=1 / 12)
    measured, theory = typical_networks(net, X, networks=4000), typical_scale_invariant(net, X)
    start = float(net.first_kernel(X)[0, 0])
    for found in (measured.kernel[:, 1] / start, measured.gradient[:, 0]):
        np.testing.assert_allclose(law.cdf(found), [0.05, 0.5, 0.95], atol=4 * 0.5 / np.sqrt(4000))
    mean, variance = law.expect(np.log), law.expect(lambda y: np.log(y) ** 2) - law.expect(np.log) ** 2
    expected = np.exp(mean + np.sqrt(variance) * stats.norm.ppf([0.05, 0.5, 0.95]))
    np.testing.assert_allclose(theory.kernel[:, 1] / start, expected, rtol=1e-6)
    np.testing.assert_allclose(theory.gradient[:, 0], expected, rtol=1e-6)
    np.testing.assert_allclose(theory.kernel[:, 0], start, rtol=1e-12)
    np.testing.assert_allclose(theory.gradient[:, -1], 1.0, rtol=1e-12)


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "abs"])
def test_deep_networks_are_log_normal(activation):
    """By layer 20, within the errors of 1000 networks: quantiles of the logarithm in units of its deviation."""
    point = fw.criticality(activation).point
    net = network(activation, C_W=point.C_W)
    measured, theory = typical_networks(net, X, networks=1000, seed=1), typical_scale_invariant(net, X)
    for found, expected in (
        (measured.kernel[:, -1], theory.kernel[:, -1]),
        (measured.gradient[:, 0], theory.gradient[:, 0]),
    ):
        deviation = np.log(expected[2] / expected[0]) / (2 * stats.norm.ppf(0.95))
        # The error of an outer quantile of a normal sample is 2.1 deviations over the root of its size.
        assert (np.abs(np.log(found / expected)) < deviation * np.array([4, 2.6, 4]) * 2.1 / np.sqrt(1000)).all()


def test_the_median_of_a_deep_narrow_relu_network_is_far_below_its_mean():
    """Width 30, 100 layers: the last kernel is 1.6e-4 of its mean of two in the median network, gradients span six decades."""
    theory = typical_scale_invariant(network("relu", 30, 100, C_W=2.0), np.ones((1, 3)))
    assert theory.kernel[1, -1] == pytest.approx(3.2e-4, rel=0.02)
    assert 6 < np.log10(theory.gradient[2, 0] / theory.gradient[0, 0]) < 6.5


def test_other_networks_have_no_such_law():
    assert typical_scale_invariant(network("tanh"), X) is None
    assert typical_scale_invariant(network("relu", C_b=0.1, C_W=2.0), X) is None


def test_gradients_by_autodiff():
    """Forward and backward passes against the chain rule of a network of two hidden layers, in the mean: chi_perp of each layer."""
    net = network("tanh", 40, 3, C_b=0.1, C_W=1.3)
    chain = fw.advice.diagnose_gradients(net, X).chain_rule
    found = typical_networks(net, X, networks=2000)
    # A median lies below the mean by half the variance of the logarithm, here a few per cent.
    np.testing.assert_allclose(found.gradient[1], chain, rtol=0.08)
    assert (found.gradient[0] <= found.gradient[1]).all()


def test_groups_change_nothing(monkeypatch):
    """Networks are drawn in groups that fit into memory; their law is the same."""
    net = network("relu", 6, 4, C_W=2.0)
    whole = typical_networks(net, X, networks=3000)
    monkeypatch.setattr("finitewidth.ensembles.typical._NUMBERS", 70 * net.parameters)
    grouped = typical_networks(net, X, networks=3000)
    np.testing.assert_allclose(np.log(grouped.kernel), np.log(whole.kernel), atol=0.2)
