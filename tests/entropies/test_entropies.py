"""Entropies of tables, of Gaussians and of nearly Gaussian layers, against brute force."""

import math

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import entropy as scipy_entropy, multivariate_normal

import finitewidth as fw
from finitewidth.entropies import (
    action_couplings,
    cross_entropy,
    divergence,
    entropy,
    gaussian_entropy,
    mutual_information,
    neuron_entropy,
    neuron_information,
    neuron_tripartite,
    sample_information,
    tripartite_information,
)


def test_tables_against_scipy():
    """PDLT (A.1), (A.12), (A.14)."""
    joint = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(3, 4)
    p, q = joint.sum(axis=1), joint.sum(axis=0)
    assert entropy(joint) == pytest.approx(scipy_entropy(joint.ravel()), rel=1e-13)
    assert divergence(joint, np.outer(p, q)) == pytest.approx(mutual_information(joint), rel=1e-12)
    assert divergence(joint, np.outer(p, q)) == pytest.approx(scipy_entropy(joint.ravel(), np.outer(p, q).ravel()))
    assert cross_entropy([1.0, 0.0], [0.0, 1.0]) == math.inf
    assert cross_entropy([1.0, 0.0], [1.0, 0.0]) == 0.0


@pytest.mark.parametrize("off", [5e-10, -5e-10])
def test_probabilities_may_be_rounded(off):
    """To 1e-9: what a float64 sum leaves, or twelve printed digits, is let pass; more is refused, and one can see how much it is."""
    third = np.full(3, 1 / 3)
    assert entropy(third + off / 3) == pytest.approx(np.log(3), abs=1e-9)
    with pytest.raises(fw.DomainError, match=rf"add up to {1 + 4 * off:.12g},"):
        entropy(third + 4 * off / 3)


def test_tripartite_information_of_bits():
    r"""PDLT (A.24): three copies of a bit share $\log2$, three of which one is the sum of the others $-\log2$."""
    copies, parity = np.zeros((2, 2, 2)), np.zeros((2, 2, 2))
    copies[0, 0, 0] = copies[1, 1, 1] = 0.5
    for a, b in np.ndindex(2, 2):
        parity[a, b, a ^ b] = 0.25
    assert tripartite_information(copies) == pytest.approx(math.log(2), rel=1e-13)
    assert tripartite_information(parity) == pytest.approx(-math.log(2), rel=1e-13)


def test_gaussians():
    """PDLT (A.26), (A.28)-(A.29)."""
    K = np.array([[1.3, 0.4], [0.4, 0.7]])
    assert gaussian_entropy(K, 3) == pytest.approx(3 * multivariate_normal(cov=K).entropy(), rel=1e-13)
    expected = 2 * (gaussian_entropy(K[:1, :1]) + gaussian_entropy(K[1:, 1:]) - gaussian_entropy(K))
    found = sample_information(K, neurons=2)
    assert found[0, 1] == pytest.approx(expected, rel=1e-13)
    assert found[0, 0] == math.inf
    x = 0.2  # K_[2]/K_[0] of samples of equal norm
    equal = sample_information([[1 + x, 1 - x], [1 - x, 1 + x]])[0, 1]
    assert equal == pytest.approx(0.5 * math.log((1 + x) ** 2 / (4 * x)), rel=1e-13)


@pytest.mark.parametrize("m", [1, 3])
def test_entropy_is_that_of_the_action(m):
    r"""PDLT (A.55), (A.59), (A.63), (A.66): a distribution with the couplings $g_m, v_m$ has metric $G$ and vertex $V$ to second
    order, and the entropy of the series to third, whatever $u_m$."""

    def of_action(scale, u):
        V, n, G = scale, 1, 0.8
        sextic = u * scale**2
        g, v = action_couplings(G, V, n, m, sextic)

        def radial(power, f=lambda r: 1.0):
            def density(r):
                return r ** (m - 1 + power) * math.exp(-g * r**2 / 2 + v * r**4 / 8 - sextic * r**6 / 24) * f(r)

            return integrate.quad(density, 0, 8.0, epsabs=0, epsrel=1e-12, limit=200)[0]

        whole = radial(0)
        second, fourth = radial(2) / whole, radial(4) / whole
        sphere = 2 * math.pi ** (m / 2) / math.gamma(m / 2)
        action = g * second / 2 - v * fourth / 8 + sextic * radial(6) / whole / 24
        metric = second / m
        return metric - G, fourth / (m * (m + 2)) - metric**2 - V, action + math.log(sphere * whole), G, V

    for u in (4.0, 9.0):  # steep enough at these scales for the integrals to exist
        residuals = []
        for scale in (4e-3, 2e-3):
            of_metric, of_vertex, found, G, V = of_action(scale, u)
            residuals.append((of_metric, of_vertex, found - neuron_entropy(G + of_metric, V / G**2, m)))
        order = np.log2(np.abs(residuals[0]) / np.abs(residuals[1]))
        assert (order > [2.7, 2.7, 2.7]).all(), order


def test_informations_are_differences_of_entropies():
    """PDLT (A.53), (A.67), (A.75), from (A.66)."""
    e = 0.03
    S = {m: neuron_entropy(1.0, e, m) for m in range(1, 10)}
    assert neuron_information(e, (2, 3)) == pytest.approx(S[2] + S[3] - S[5], rel=1e-9)
    three = S[2] + S[3] + S[4] - S[5] - S[7] - S[6] + S[9]
    assert neuron_tripartite(e, (2, 3, 4)) == pytest.approx(three, rel=1e-7)
    assert neuron_information(e, (2, 3), order=2) == pytest.approx(6 / 8 * e**2, rel=1e-13)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: entropy([0.5, 0.6]), "p"),
        (lambda: entropy([-0.5, 1.5]), "p"),
        (lambda: divergence([1.0], [0.5, 0.5]), "q"),
        (lambda: mutual_information([0.5, 0.5]), "joint"),
        (lambda: gaussian_entropy([[1.0, 1.0], [1.0, 1.0]]), "K"),
        (lambda: sample_information([[0.0]]), "K"),
        (lambda: neuron_information(-0.1), "coupling"),
        (lambda: neuron_information(0.1, order=4), "order"),
        (lambda: neuron_entropy(0.0, 0.1), "G"),
        (lambda: action_couplings(-1.0, 1.0, 10), "G"),
        (lambda: fw.information(fw.MLP("relu", (2, 8, 1)), [[1.0, 0.5]], groups=(1, 1)), "groups"),
        (lambda: fw.information(fw.MLP("relu", (2, 8, 1)), [[1.0, 0.5]], groups=(4, 4, 1)), "groups"),
        (lambda: fw.information(fw.MLP("relu", (2, 8, 1)), [[1.0, 0.5]], networks=10), "networks"),
    ],
)
def test_refusals(call, argument):
    with pytest.raises(fw.ArgumentError, match=f"`{argument}`"):
        call()
