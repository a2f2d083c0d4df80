"""Gaussian densities and Wick sums against quadrature, scipy and explicit enumeration."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import multivariate_normal

from finitewidth._errors import BlowUpError, DomainError, ShapeError
from finitewidth.gaussian.wick import (
    double_factorial,
    gaussian_log_density,
    gaussian_moment,
    log_normaliser,
    log_source_generating_function,
    pairings,
    wick_moment,
)
from metric_laws import hermite_grid

K2 = np.array([[1.0, 0.3], [0.3, 0.5]])
K3 = np.array([[1.2, 0.4, -0.3], [0.4, 0.9, 0.2], [-0.3, 0.2, 0.7]])


def test_normaliser_is_the_integral_of_the_exponential():
    """PDLT (1.7), PDLT (1.30): a trapezoid rule in two dimensions."""
    grid = np.linspace(-12, 12, 241)
    z = np.array(list(itertools.product(grid, grid)))
    integral = np.exp(-0.5 * np.einsum("ia,ab,ib->i", z, np.linalg.inv(K2), z)).sum() * (grid[1] - grid[0]) ** 2
    np.testing.assert_allclose(np.exp(log_normaliser(K2)), integral, rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_normaliser([[0.7]])), math.sqrt(2 * math.pi * 0.7), rtol=1e-14)


def test_log_density_agrees_with_scipy():
    """PDLT (1.34)-(1.35): batches of points, with and without a mean."""
    z = np.random.default_rng(0).normal(size=(4, 5, 3))
    s = np.array([0.3, -1.0, 0.2])
    np.testing.assert_allclose(gaussian_log_density(z, K3), multivariate_normal(np.zeros(3), K3).logpdf(z), rtol=1e-12)
    np.testing.assert_allclose(gaussian_log_density(z, K3, s), multivariate_normal(s, K3).logpdf(z), rtol=1e-12)


def test_derivatives_of_the_generating_function_are_the_moments():
    """PDLT (1.19), PDLT (1.41)-(1.44): autodiff four times at J = 0."""

    def ratio(J):
        return jnp.exp(log_source_generating_function(K3, J) - log_normaliser(K3))

    fourth = jax.jit(jax.jacfwd(jax.jacfwd(jax.jacfwd(jax.jacfwd(ratio)))))(jnp.zeros(3))
    wick = np.array([wick_moment(K3, i) for i in np.ndindex(3, 3, 3, 3)]).reshape(3, 3, 3, 3)
    np.testing.assert_allclose(fourth, wick, atol=1e-13)


def test_generating_function_is_the_integral_with_a_source():
    """PDLT (1.19), PDLT (1.41): a trapezoid rule in one dimension."""
    grid, J = np.linspace(-20, 20, 4001), 1.3
    integral = np.exp(-(grid**2) / 1.4 + J * grid).sum() * (grid[1] - grid[0])
    np.testing.assert_allclose(np.exp(log_source_generating_function([[0.7]], [J])), integral, rtol=1e-12)


@pytest.mark.parametrize(("m", "count"), [(0, 1), (1, 1), (2, 3), (3, 15), (4, 105), (5, 945)])
def test_number_of_pairings(m, count):
    """PDLT (1.16), PDLT (1.45): (2m-1)!! of them, all different, each using every number once."""
    found = list(pairings(2 * m))
    assert double_factorial(m) == len(found) == len(set(found)) == count
    assert all(sorted(itertools.chain(*pairing)) == list(range(2 * m)) for pairing in found)
    assert list(pairings(2 * m + 1)) == []


@pytest.mark.parametrize("m", range(6))
def test_single_variable_moments(m):
    """PDLT (1.15): Gauss-Hermite, exact for these powers, and the Wick sum with one index."""
    z, weights = hermite_grid(0.7, 8)
    np.testing.assert_allclose(gaussian_moment(0.7, m), weights @ z[:, 0] ** (2 * m), rtol=1e-12)
    np.testing.assert_allclose(gaussian_moment(0.7, m), wick_moment([[0.7]], [0] * (2 * m)), rtol=1e-14)


def test_fourth_moment_is_three_variances_squared():
    """PDLT (1.15), PDLT (1.22): elementwise over an array, zero variance included."""
    np.testing.assert_allclose(gaussian_moment([0.0, 0.5, 2.0], 2), [0.0, 0.75, 12.0], rtol=1e-15)


@pytest.mark.parametrize("indices", [(0, 1, 2, 2, 1, 0), (0, 0, 0, 1, 1, 2), (0, 1, 2, 0, 1, 2, 2, 2), (1,) * 8])
def test_wick_sums_against_exact_quadrature(indices):
    """PDLT (1.45): 6- and 8-point functions of three correlated variables."""
    z, weights = hermite_grid(K3, 6)
    np.testing.assert_allclose(wick_moment(K3, indices), weights @ z[:, indices].prod(axis=1), rtol=1e-13)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=8), st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_wick_recursion_is_the_sum_over_pairings(indices, seed, rank):
    """PDLT (1.45): the recursion against plain enumeration, singular covariances included."""
    root = np.random.default_rng(seed).normal(size=(4, rank))
    K = root @ root.T
    terms = [math.prod(K[indices[i], indices[j]] for i, j in pairing) for pairing in pairings(len(indices))]
    np.testing.assert_allclose(wick_moment(K, indices), sum(terms), rtol=1e-11, atol=1e-12 * sum(map(abs, terms)))


def test_many_legs_do_not_enumerate_the_pairings():
    """PDLT (1.45): 14 distinct and 40 equal variables, far beyond a list of pairings."""
    assert wick_moment(np.ones((14, 14)), range(14)) == double_factorial(7)
    np.testing.assert_allclose(wick_moment(K2, [0] * 40), float(double_factorial(20)), rtol=1e-13)


def test_moments_compose_with_jit_and_grad():
    """PDLT (1.44): E[z1 z1 z2 z2] = K11 K22 + 2 K12^2 and its derivatives."""
    gradient = jax.jit(jax.grad(lambda K: wick_moment(K, (0, 0, 1, 1))))(jnp.asarray(K2))
    np.testing.assert_allclose(gradient, [[0.5, 0.6], [0.6, 1.0]], rtol=1e-14)
    np.testing.assert_allclose(jax.grad(log_normaliser)(jnp.asarray(K3)), np.linalg.inv(K3) / 2, rtol=1e-12)


def test_values_are_float64_when_the_caller_is_not():
    with jax.enable_x64(False):
        assert log_normaliser(K2).dtype == jnp.float64
        assert wick_moment(K2, (0, 1)).dtype == jnp.float64
        assert gaussian_moment(0.5, 2).dtype == jnp.float64


def test_an_ill_scaled_covariance_is_not_singular():
    """PDLT (1.30): variables in very different units are no reason to refuse."""
    np.testing.assert_allclose(log_normaliser(np.diag([1e-30, 1e30])), math.log(2 * math.pi), rtol=1e-12)


@pytest.mark.parametrize(
    "K", [np.ones((2, 2)), np.diag([1.0, 0.0]), [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]]]
)
def test_singular_covariances_have_no_density(K):
    """PDLT (1.30): the inverse is needed, so a clear error; moments do not need it."""
    for call in (log_normaliser, lambda K: gaussian_log_density(np.zeros(len(K)), K)):
        with pytest.raises(DomainError, match="`K`: got a singular matrix"):
            call(K)
    assert np.isfinite(wick_moment(K, (0, 0, 1, 1)))


@pytest.mark.parametrize(
    ("call", "error", "argument"),
    [
        (lambda: log_normaliser(np.ones((2, 3))), ShapeError, "K"),
        (lambda: log_normaliser([[1.0, np.nan], [np.nan, 1.0]]), DomainError, "K"),
        (lambda: log_normaliser([[1.0, 2.0], [2.0, 1.0]]), DomainError, "K"),
        (lambda: gaussian_log_density(np.zeros(3), K2), ShapeError, "z"),
        (lambda: gaussian_log_density(np.zeros(2), K2, np.zeros(3)), ShapeError, "mean"),
        (lambda: log_source_generating_function(K2, 1.0), ShapeError, "J"),
        (lambda: gaussian_moment(-1.0, 2), DomainError, "K"),
        (lambda: gaussian_moment(1.0, -1), DomainError, "m"),
        (lambda: wick_moment(K2, (0, 2)), DomainError, "indices"),
        (lambda: wick_moment(K2, (0, -1)), DomainError, "indices[1]"),
        (lambda: wick_moment(K2, [0] * 302), DomainError, "indices"),
        (lambda: pairings(-2), DomainError, "n"),
    ],
)
def test_bad_input_names_the_argument(call, error, argument):
    with pytest.raises(error) as caught:
        call()
    assert caught.value.argument == argument


def test_moments_beyond_the_floats_are_an_error():
    with pytest.raises(BlowUpError):
        gaussian_moment(1.0, 200)
    with pytest.raises(BlowUpError):
        wick_moment([[1e3]], [0] * 300)
