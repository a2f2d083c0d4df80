"""Informations of residual networks: theory against closed forms and networks, exact values against laws that are known."""

import math

import jax
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.ensembles.persistent_samples import Persistent, persistent_samples
from finitewidth.entropies.mixtures import entropies_of_neurons, in_groups, jackknife
from finitewidth.entropies.persistent import information_of_samples, informations_of_neurons
from finitewidth.expansion.persistent_sharing import own_paths

GAMMA = math.sqrt(0.5)


def covariance_of_squares(correlation):
    """Of two squared ReLUs of variance one."""
    angle = math.acos(correlation)
    both = (math.pi - angle) * (1 + 2 * correlation**2) + 3 * math.sin(angle) * correlation
    return both / (2 * math.pi) - 0.25


def test_joint_cumulants_of_a_path():
    r"""ReLU at criticality, where $K$ stays and $\sum_p\rho^pf_p^2$ is a closed form; beyond PDLT (A.67), which has $p = 2$ alone."""
    depth, C_W = 6, 2 * (1 - GAMMA**2)
    net = fw.ResidualMLP("relu", width=8, depth=depth, gamma=GAMMA, C_W=C_W)
    with jax.enable_x64(True):
        found = np.asarray(own_paths(net.activation, np.asarray(1.3), net.layers[1:]))
    for layer in range(1, depth + 1):
        ago = np.arange(1, layer)
        all_powers = sum(covariance_of_squares(GAMMA ** (s + t)) for s in ago for t in ago)
        second = np.sum(GAMMA ** (2 * ago)) ** 2 / 2  # f_2 = 1/sqrt(2)
        assert found[layer - 1] == pytest.approx(C_W**2 * (all_powers - second) / 2, rel=1e-9, abs=1e-15)


def test_gaussians_around_nothing_are_the_mixture():
    """PDLT (A.14), (A.24): without skips both ways of integrating have the same law."""
    rng = np.random.default_rng(0)
    metrics = rng.gamma(12, 1 / 12, size=800)
    found = informations_of_neurons(Persistent(metrics[:, None, None], np.zeros((800, 1, 6))))
    grouped = in_groups(metrics)

    def of(m):
        return lambda weights: entropies_of_neurons(grouped, m, weights)

    one, two, three = of(1), of(2), of(3)
    expected = (
        jackknife(one),
        jackknife(lambda w: 2 * one(w) - two(w)),
        jackknife(lambda w: 3 * one(w) - 3 * two(w) + three(w)),
    )
    for mine, theirs, digits in zip(found, expected, (1e-6, 1e-4, 1e-3), strict=True):
        assert mine == pytest.approx(theirs, rel=digits)


def test_neurons_around_a_common_centre():
    """PDLT (A.14), (A.24) of jointly Gaussian neurons, whose informations are determinants."""
    centres = 0.6 * np.random.default_rng(1).normal(size=(4000, 1, 1))
    found = informations_of_neurons(Persistent(np.full((4000, 1, 1), 0.64), np.broadcast_to(centres, (4000, 1, 9))))
    correlation = 0.36 * np.ones((3, 3)) + 0.64 * np.eye(3)
    pair = -math.log(np.linalg.det(correlation[:2, :2])) / 2
    tripartite = 3 * pair + math.log(np.linalg.det(correlation)) / 2
    for (value, error), expected in zip(found, (math.log(2 * math.pi * math.e) / 2, pair, tripartite), strict=True):
        assert abs(value - expected) < 4.5 * error
        assert error < 0.1 * expected


def test_samples_around_centres():
    """PDLT (A.28): two inputs of correlation .9 in what is passed on, -.5 in what is added."""
    passed = np.linalg.cholesky([[1.0, 0.9], [0.9, 1.0]]) @ np.random.default_rng(2).normal(size=(2000, 2, 4))
    block = np.broadcast_to(np.array([[1.0, -0.5], [-0.5, 1.0]]), (2000, 2, 2))
    value, error = information_of_samples(Persistent(block, passed))
    assert abs(value + math.log(1 - 0.2**2) / 2) < 4.5 * error
    assert error < 0.005


def test_a_residual_network():
    r"""The first layer is Gaussian, the readout has no skip: there PDLT (A.53) holds, before it there is more. With the complete $V$ and
    $G^{\{1\}}$ of `flow`."""
    x = np.array([[1.0, 0.5], [0.3, -1.0]])
    net = fw.tune(fw.ResidualMLP("tanh", width=16, depth=4, gamma=0.6, outputs=1))
    found, theory = fw.information(net, x, networks=400, seed=1), fw.flow(net, x)
    np.testing.assert_allclose(found.coupling, theory.V[:, 0, 0, 0, 0] / 16 / theory.K[:, 0, 0] ** 2, rtol=1e-12)
    quadratic = found.coupling**2 / 8
    np.testing.assert_allclose(found.neurons.leading[[0, 3]], quadratic[[0, 3]], rtol=1e-12, atol=1e-16)
    K, n_2 = theory.K[:2, 0, 0], 16**2
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights /= weights.sum()
    square, correlation = np.tanh(math.sqrt(K[0]) * nodes) ** 2, 0.36 * K[0] / K[1]
    late = np.tanh(math.sqrt(K[0]) * (correlation * nodes[:, None] + math.sqrt(1 - correlation**2) * nodes)) ** 2
    mean, second = weights @ square, weights @ (square * (nodes**2 - 1)) / math.sqrt(2)
    others = weights @ (square[:, None] * late) @ weights - mean**2 - (correlation * second) ** 2
    path = (float(net.C_W[1]) / K[1]) ** 2 * others / 2 / n_2
    assert found.neurons.leading[1] - quadratic[1] == pytest.approx(path, rel=1e-6)
    assert found.neurons.leading[2] > quadratic[2]
    more = found.neurons.leading - quadratic
    np.testing.assert_allclose(
        found.tripartite.leading, found.coupling**3 / 8 + 1.5 * found.coupling * more, rtol=1e-12
    )
    shift = np.asarray(theory.G1)[:, 0, 0] / 16 / theory.K[:, 0, 0] / 2
    np.testing.assert_allclose(found.entropy.next - found.entropy.leading, shift, rtol=1e-9, atol=1e-14)
    assert found.neurons.next is None
    assert found.samples is not None
    for orders in (found.entropy, found.samples):
        exact, following = orders.exact, orders.next
        assert (np.abs(exact.mean - following)[1:] < 4.5 * exact.standard_error[1:] + 0.02).all()
        np.testing.assert_allclose(exact.mean[0], following[0], rtol=1e-6)
    assert "not known with skips" in found.assumes["next"]


@pytest.mark.parametrize(
    ("change", "groups", "message"),
    [
        ({}, (1, 2, 1), r"groups.*\(1, 2, 1\) for a residual network"),
        ({"width": 2}, (1, 1, 1), "at least three neurons"),
        ({"norm": "rms"}, (1, 1, 1), "norm='rms'"),
        ({"gamma": 1.0, "C_W": 1e-4}, (1, 1, 1), "too narrow"),
    ],
)
def test_refusals(change, groups, message):
    """Each names what to change."""
    net = fw.ResidualMLP(**({"activation": "tanh", "width": 16, "depth": 3, "gamma": 0.6} | change))
    with pytest.raises(fw.DomainError, match=message):
        fw.information(net, [[1.0, 0.5]], groups=groups, networks=400)


@pytest.mark.measured
def test_theory_meets_residual_networks():
    r"""ReLU at $\gamma^2 = \frac12$, where PDLT (A.67) lacks a quarter of layer 2: networks of 64 and 192 neurons, extrapolated."""
    found = []
    for n in (64, 192):
        net = fw.tune(fw.ResidualMLP("relu", width=n, depth=3, gamma=GAMMA))
        found.append((n, fw.information(net, [[1.0, -1.0]], networks=20_000, seed=n)))
    for name, power in (("neurons", 2), ("tripartite", 3)):
        (n, one), (m, two) = ((n, getattr(each, name)) for n, each in found)
        weights = np.array([-n, m]) / (m - n) * np.array([n, m]) ** power
        value = weights @ [one.exact.mean, two.exact.mean]
        error = np.hypot(*(weights[:, None] * [one.exact.standard_error, two.exact.standard_error]))
        leading = m**power * two.leading
        # what is left after the extrapolation is of second order in what it removed
        left = (m**power * two.exact.mean - leading) ** 2 / leading.clip(1e-300)
        assert (np.abs(value - leading)[1:] < 4.5 * error[1:] + 2 * left[1:]).all()
        assert (error[1:] < 0.15 * leading[1:]).all()
    printed = np.asarray(found[1][1].coupling)[1] ** 2 / 8
    exact = found[1][1].neurons.exact
    assert exact.mean[1] - printed > 4 * exact.standard_error[1]


def test_a_seed_is_a_seed():
    """Networks of a seed are always the same, and others than those of the next."""
    net = fw.ResidualMLP("relu", width=8, depth=3, gamma=GAMMA, C_W=1.0)
    one, other, again = (persistent_samples(net, np.ones((1, 2)), 8, 6, seed=seed) for seed in (3, 4, 3))
    np.testing.assert_array_equal(one.block, again.block)
    np.testing.assert_array_equal(one.passed, again.passed)
    assert (one.block[:, 1:] != other.block[:, 1:]).all()
    assert len(np.unique(one.block[:, 1])) == 6  # networks of one seed differ, too
