"""Correlators of the tangent kernel with neural indices, and of weights between layers."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth._errors import ArgumentError
from finitewidth.expansion import flow
from finitewidth.expansion.observables import gaussian_average
from finitewidth.expansion.tangent_correlators import (
    averaged_tangent_covariance,
    observable_with_tangent,
    tangent_correlator,
    tangent_preactivation_correlator,
)
from finitewidth.expansion.weight_insertions import two_weight_insertions, weight_generating_function
from finitewidth.gaussian.nearly_gaussian import expectation
from finitewidth.networks import MLP

X = np.array([[0.8, -0.5, 0.4], [0.1, 0.7, -0.6]])
NET = MLP(
    "tanh",
    (3, 12, 18, 2, 1),
    C_b=(0.3, 0.1, 0.2, 0.05),
    C_W=(1.3, 1.7, 1.4, 1.2),
    lambda_b=(0.5, 0.7, 0.2, 0.9),
    lambda_W=(1.1, 0.6, 1.4, 0.8),
)


@pytest.fixture(scope="module")
def theory():
    return flow(NET, X, through="ntk")


def test_patterns_of_two_tangent_kernels(theory):
    """PDLT (8.82): which of A, B, B each pattern of neurons picks, and that others vanish."""
    A, B, n = theory.A[2], theory.B[2], 18
    for a, b, c, d in itertools.product(range(2), repeat=4):

        def found(i, j, k, m, samples=(a, b, c, d)):
            sites = list(zip((i, j, k, m), samples, strict=True))
            return float(tangent_correlator(theory, 3, sites)) * n

        assert found(0, 0, 1, 1) == pytest.approx(A[a, b, c, d])
        assert found(0, 1, 0, 1) == pytest.approx(B[a, c, b, d])
        assert found(0, 1, 1, 0) == pytest.approx(B[a, d, b, c])
        assert found(0, 0, 0, 0) == pytest.approx(A[a, b, c, d] + B[a, c, b, d] + B[a, d, b, c])
        assert found(0, 1, 2, 3) == found(0, 0, 0, 1) == 0


def test_patterns_with_preactivations(theory):
    """PDLT (8.67): the same with D and F; exchanging the two sites of the kernel changes nothing."""
    D, F, n = theory.D[2], theory.F[2], 18
    for a, b, c, d in itertools.product(range(2), repeat=4):

        def found(i, j, k, m, samples=(a, b, c, d)):
            sites = list(zip((i, j, k, m), samples, strict=True))
            return float(tangent_preactivation_correlator(theory, 3, sites)) * n

        assert found(0, 0, 1, 1) == pytest.approx(D[a, b, c, d])
        assert found(0, 1, 0, 1) == pytest.approx(F[a, c, b, d])
        assert found(0, 1, 1, 0) == pytest.approx(F[a, d, b, c])
        exchanged = tangent_preactivation_correlator(theory, 3, [(0, a), (1, b), (1, d), (0, c)])
        assert found(0, 1, 0, 1) == pytest.approx(float(exchanged) * n)


def test_variance_of_the_average_over_outputs(theory):
    """PDLT (8.82) summed over neurons."""
    found = averaged_tangent_covariance(theory)
    for a, b, c, d in itertools.product(range(2), repeat=4):
        pairs = itertools.product(range(2), repeat=2)
        terms = [tangent_correlator(theory, 3, [(i, a), (i, b), (j, c), (j, d)]) for i, j in pairs]
        assert found[2, a, b, c, d] == pytest.approx(float(sum(terms)) / 4)


def test_polynomial_observables(theory):
    """PDLT (8.71) for products of two preactivations is PDLT (8.67), of four it follows from Wick's theorem."""

    def product(z):
        return z[0, 0] * z[1, 1]

    for kernel in (((0, 0), (1, 1)), ((1, 0), (0, 1)), ((0, 1), (0, 1))):
        expected = tangent_preactivation_correlator(theory, 3, [(0, 0), (1, 1), *kernel])
        found = observable_with_tangent(theory, 3, product, kernel, samples=(0, 1), neurons=2)
        assert float(found) == pytest.approx(float(expected), abs=1e-12)

    def fourth(z):
        return z[0, 0] ** 3 * z[1, 0]

    K, own = (
        theory.K[2],
        [tangent_preactivation_correlator(theory, 3, [(0, a), (0, b), (1, 0), (1, 1)]) for a, b in ((0, 0), (0, 1))],
    )
    found = observable_with_tangent(theory, 3, fourth, ((1, 0), (1, 1)), samples=(0, 1))
    assert float(found) == pytest.approx(float(3 * K[0, 1] * own[0] + 3 * K[0, 0] * own[1]), rel=1e-7)


def test_slopes_with_the_tangent_kernel_feed_the_mean(theory):
    r"""PDLT (8.59), (8.71): $E[\sigma'_1\sigma'_2\widehat{\Delta H}_{ii;12}]$ is what $H^{\{1\}}$ gains beyond mean and metric."""
    wide = flow(NET.replace(widths=(3, 12, 10**9, 2, 1)), X, through="ntk")  # layer 3 adds no fluctuation of its own
    K, theta, g1, v = theory.K[1], theory.Theta[1], theory.g1[1], theory.v[1]

    def slopes(z):
        return (1 - jnp.tanh(z[0, 0]) ** 2) * (1 - jnp.tanh(z[1, 0]) ** 2)

    def values(z):
        return jnp.tanh(z[0, 0]) * jnp.tanh(z[1, 0])

    def shift(function):
        def average(k):
            return gaussian_average(function, k, 1)

        return expectation(average, K, v, g1) - average(K)

    with_kernel = observable_with_tangent(theory, 2, slopes, ((0, 0), (0, 1)), samples=(0, 1))
    expected = 1.4 * shift(values) + 1.4 * (theta[0, 1] * shift(slopes) + with_kernel)
    found = (wide.H - wide.Theta)[2, 0, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


SIGNALS = np.random.default_rng(1).normal(size=(2, 3))


def smooth(z):
    return jnp.tanh(z[0, 0]) * jnp.sin(z[1, 1] + 0.3) + z[1, 0] ** 2 * jnp.cos(z[0, 1])


@pytest.mark.parametrize("weights", [((0, 1), (0, 1)), ((0, 0), (1, 2))])
def test_two_insertions_are_derivatives_of_the_generating_function(weights):
    """PDLT (8.53)-(8.55): by autodiff in the source, to the accuracy of 35 nodes a dimension for tanh."""
    settings = dict(C_b=0.2, C_W=1.3)
    (i3, j3), (i4, j4) = weights

    def generate(third, fourth):
        source = jnp.zeros((2, 3)).at[i3, j3].add(third).at[i4, j4].add(fourth)
        return weight_generating_function(smooth, SIGNALS, source, **settings)

    def slope(third):
        return jax.jvp(lambda fourth: generate(third, fourth), (0.0,), (1.0,))[1]

    found = two_weight_insertions(smooth, SIGNALS, weights, neurons=2, **settings)
    assert float(found) == pytest.approx(float(jax.jvp(slope, (0.0,), (1.0,))[1]), rel=1e-7, abs=1e-12)


def test_insertions_against_drawn_weights():
    """PDLT (8.53), (8.55): 400,000 draws of the weights of one layer, in standard errors."""
    random, C_b, C_W = np.random.default_rng(2), 0.2, 1.3
    W = random.standard_normal((400_000, 2, 3)) * np.sqrt(C_W / 3)
    z = W @ SIGNALS.T + np.sqrt(C_b) * random.standard_normal((400_000, 2, 1))
    drawn = np.tanh(z[:, 0, 0]) * np.sin(z[:, 1, 1] + 0.3) + z[:, 0, 1] ** 2 * np.cos(z[:, 1, 0])
    source = np.array([[0.3, -0.2, 0.0], [0.1, 0.0, 0.4]])
    settings = dict(C_b=C_b, C_W=C_W)
    for samples, expected in (
        (
            drawn * W[:, 0, 1] * W[:, 1, 2],
            two_weight_insertions(smooth, SIGNALS, ((0, 1), (1, 2)), neurons=2, **settings),
        ),
        (drawn * W[:, 0, 0] ** 2, two_weight_insertions(smooth, SIGNALS, ((0, 0), (0, 0)), neurons=2, **settings)),
        (
            drawn * np.exp(np.einsum("nij,ij->n", W, source)),
            weight_generating_function(smooth, SIGNALS, source, **settings),
        ),
    ):
        assert abs(samples.mean() - float(expected)) < 4 * samples.std() / np.sqrt(len(samples))


def test_refusals(theory):
    """Every bad argument is named."""
    for function in (lambda flow: tangent_correlator(flow, 1, [(0, 0)] * 4), averaged_tangent_covariance):
        with pytest.raises(ArgumentError, match="`flow`: got NoneType"):
            function(None)
    with pytest.raises(ArgumentError, match="layer"):
        tangent_correlator(theory, 5, [(0, 0)] * 4)
    with pytest.raises(ArgumentError, match="sites"):
        tangent_correlator(theory, 3, [(0, 0)] * 2)
    with pytest.raises(ArgumentError, match="sample"):
        tangent_preactivation_correlator(theory, 3, [(0, 0), (0, 2), (0, 0), (0, 0)])
    with pytest.raises(ArgumentError, match="through"):
        tangent_correlator(flow(NET, X, through="kernel"), 3, [(0, 0)] * 4)
    with pytest.raises(ArgumentError, match="variables"):
        two_weight_insertions(smooth, SIGNALS, ((0, 0), (0, 0)), neurons=3)
    with pytest.raises(ArgumentError, match="weights"):
        two_weight_insertions(smooth, SIGNALS, ((0, 3), (0, 0)), neurons=2)
    with pytest.raises(ArgumentError, match="singular"):
        two_weight_insertions(smooth, np.ones((2, 3)), ((0, 0), (0, 0)), neurons=2)
    with pytest.raises(ArgumentError, match="source"):
        weight_generating_function(smooth, SIGNALS, np.zeros(3))
