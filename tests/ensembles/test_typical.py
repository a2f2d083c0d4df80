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
    mean = law.expect(np.log)
    variance, third = (law.expect(lambda y, k=k: (np.log(y) - mean) ** k) for k in (2, 3))
    z = stats.norm.ppf([0.05, 0.5, 0.95])
    expected = np.exp(mean + np.sqrt(variance) * z + third / (6 * variance) * (z**2 - 1))
    np.testing.assert_allclose(expected, law.ppf([0.05, 0.5, 0.95]), rtol=0.02)
    np.testing.assert_allclose(theory.kernel[:, 1] / start, expected, rtol=1e-6)
    np.testing.assert_allclose(theory.gradient[:, 0], expected, rtol=1e-6)
    np.testing.assert_allclose(theory.kernel[:, 0], start, rtol=1e-12)
    np.testing.assert_allclose(theory.gradient[:, -1], 1.0, rtol=1e-12)


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("C_b", [0.1, 3.0])
def test_what_signals_show_of_weights_beside_biases(width, C_b):
    """However much of a signal is bias, the gradient of the layer before is made of weights alone: a chi-square over n."""
    measured = typical_networks(network("linear", width, 2, C_b=C_b), X, networks=4000)
    law = stats.chi2(width, scale=1 / width)
    np.testing.assert_allclose(law.cdf(measured.gradient[:, 0]), [0.05, 0.5, 0.95], atol=4 * 0.5 / np.sqrt(4000))


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
    assert theory.kernel[1, -1] == pytest.approx(3.3e-4, rel=0.02)
    assert 6 < np.log10(theory.gradient[2, 0] / theory.gradient[0, 0]) < 6.5


def test_other_networks_have_no_such_law():
    assert typical_scale_invariant(network("tanh"), X) is None
    assert typical_scale_invariant(network("relu", C_b=0.1, C_W=2.0), X) is None


def test_narrow_networks_die():
    """Four ReLUs are all off in one layer of sixteen: of five layers (15/16)^5 = 72 % of networks are alive."""
    net = network("relu", 4, 6, C_W=2.0)
    measured, theory = typical_networks(net, X, networks=4000), typical_scale_invariant(net, X)
    for found in (measured, theory):
        np.testing.assert_array_equal(found.kernel[0, 1:] == 0, [True] * 5)  # one in sixteen is more than one in twenty
        np.testing.assert_array_equal(found.gradient[0] == 0, [True] * 5 + [False])
    assert np.log(theory.kernel[2, -1] / measured.kernel[2, -1]) == pytest.approx(0.0, abs=0.35)


def dense(net, x, networks, seed):
    """Last kernel and first squared gradient of networks with all their weights, by NumPy alone."""
    random, found = np.random.default_rng(seed), []
    for _ in range(networks):
        signal, slopes, weights = x[0], [], []
        for layer, (n, following) in enumerate(zip(net.widths[:-1], net.widths[1:], strict=True)):
            kernel = net.C_b[layer] + net.C_W[layer] * np.mean(signal**2)
            weights.append(random.normal(size=(following, n)) * np.sqrt(net.C_W[layer] / n))
            signal = np.tanh(weights[-1] @ signal + np.sqrt(net.C_b[layer]) * random.normal(size=following))
            slopes.append(1 - signal**2)
        backward = np.eye(net.widths[-1])[0]
        for slope, weight in zip(slopes[-2::-1], weights[:0:-1], strict=True):
            backward = slope * (weight.T @ backward)
        found.append((kernel, backward @ backward))
    return np.array(found).T


def test_networks_that_are_not_written_out_are_those_that_are():
    """Off criticality, with biases and two outputs, deep and narrow: Kolmogorov-Smirnov by the three quantiles."""
    net = fw.MLP("tanh", (3, *[12] * 15, 2), C_b=0.1, C_W=1.5)
    kernel, gradient = dense(net, X, 3000, 1)
    found = typical_networks(net, X, networks=3000, seed=2)
    error = np.sqrt(2 * 0.25 / 3000)
    for sample, expected in ((kernel, found.kernel[:, -1]), (gradient, found.gradient[:, 0])):
        below = np.mean(sample[:, None] < expected, axis=0)
        np.testing.assert_allclose(below, [0.05, 0.5, 0.95], atol=4 * error)
        np.testing.assert_allclose(below[[0, 2]], [0.05, 0.95], atol=4 * np.sqrt(2 * 0.05 * 0.95 / 3000))


def test_groups_change_nothing(monkeypatch):
    """Networks are drawn in groups that fit into memory; their law is the same."""
    net = network("relu", 6, 4, C_W=2.0)
    whole = typical_networks(net, X, networks=3000)
    monkeypatch.setattr("finitewidth.ensembles.typical._NUMBERS", 70 * sum(net.hidden_widths))
    grouped = typical_networks(net, X, networks=3000)
    # One layer in 64 is off altogether: the lowest quantile lies at the edge of dead networks, and scatters.
    np.testing.assert_allclose(np.log(grouped.kernel[1:]), np.log(whole.kernel[1:]), atol=0.2)
