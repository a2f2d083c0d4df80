"""Averages of signs, slopes and piecewise linear functions against closed forms, derivatives and samples."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth.activations import leaky_relu
from finitewidth.gaussian.orthants import absolute_value_product
from finitewidth.gaussian.sign_moments import two_slope_average
from finitewidth.gaussian.two_signs import two_sign_moments


def covariance(n, seed=0):
    root = np.random.default_rng(seed).normal(size=(n, n))
    return jnp.asarray(root @ root.T)


def test_two_signs_and_two_bare_factors():
    r"""$\langle z_iz_j\,\mathrm{sgn}z_a\,\mathrm{sgn}z_b\rangle$ by its closed form in arc sines."""
    K = covariance(4, seed=1)
    a, b, i, j = 0, 1, 2, 3
    sigma = jnp.sqrt(jnp.diagonal(K))
    rho = K[a, b] / (sigma[a] * sigma[b])
    x, y = K[a] / sigma[a], K[b] / sigma[b]
    bracket = x[i] * y[j] + y[i] * x[j] - rho * (x[i] * x[j] + y[i] * y[j])
    closed = 2 / math.pi * (jnp.arcsin(rho) * K[i, j] + bracket / jnp.sqrt(1 - rho**2))
    ((others, same),) = two_sign_moments((((i, j), (a, b)),), K)[0][:1]
    np.testing.assert_allclose(others, closed, rtol=1e-13)
    np.testing.assert_allclose(
        same,
        2 / math.pi * sigma[a] * sigma[b] * (jnp.sqrt(1 - rho**2) + rho * jnp.arcsin(rho)),
        rtol=1e-13,
    )


@pytest.mark.parametrize("seed", range(4))
def test_slopes_are_derivatives_in_the_covariance(seed):
    r"""Stein's lemma: the average with two slopes is $\partial\langle\sigma_1\sigma_2\sigma_3\sigma_4\rangle/\partial K_{34}$."""
    activation = leaky_relu(0.3)
    K = covariance(4, seed)
    gradient = jax.grad(absolute_value_product, argnums=2)(activation.odd_slope, activation.even_slope, K)
    derivative = gradient[2, 3] + gradient[3, 2]
    value = two_slope_average(1.0, 0.3, ((1, 0), (1, 0), (0, 1), (0, 1)), K)
    np.testing.assert_allclose(value, derivative, rtol=1e-8)


@pytest.mark.parametrize(
    "exponents",
    [
        ((0, 1),) * 4,
        ((1, 0), (1, 0), (0, 1), (0, 1)),
        ((1, 1), (1, 0), (0, 1)),
        ((2, 0), (0, 1), (0, 1)),
        ((1, 0), (1, 0), (0, 2)),
        ((2, 1), (0, 1)),
        ((1, 1), (1, 1)),
        ((2, 2),),
    ],
)
def test_against_samples(exponents):
    """Every pattern of repetition that the tangent kernel meets, within 4.5 standard errors of half a million draws."""
    K = covariance(len(exponents), seed=7)
    z = np.random.default_rng(8).normal(size=(500_000, len(K))) @ np.linalg.cholesky(K).T
    slopes = np.where(z > 0, 1.5, -0.4)
    products = np.prod([(slopes * z)[:, i] ** p * slopes[:, i] ** q for i, (p, q) in enumerate(exponents)], axis=0)
    value = two_slope_average(1.5, -0.4, exponents, K)
    assert abs(products.mean() - value) < 4.5 * products.std() / math.sqrt(len(z))


def test_coincident_variables():
    """Repeated variables merge: exactly, and continuously when they nearly coincide."""
    K = covariance(3, seed=3)
    merged = two_slope_average(1.0, 0.2, ((1, 1), (1, 0), (0, 1)), K)
    for shift, tolerance in ((0.0, 1e-12), (1e-7, 3e-7)):
        near = np.array([[1, 0, 0], [0, 1, 0], [1, shift, 0], [0, 0, 1]]) @ np.asarray(K) @ np.eye(3)
        rows = np.array([[1, 0, 0], [0, 1, 0], [1, shift, 0], [0, 0, 1.0]])
        repeated = jnp.asarray(near @ rows.T)
        value = two_slope_average(1.0, 0.2, ((1, 0), (1, 0), (0, 1), (0, 1)), repeated)
        np.testing.assert_allclose(value, merged, rtol=tolerance)
