"""One-dimensional averages against mpmath, over twelve decades of variance."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from finitewidth.gaussian.line import line_average

FUNCTIONS = {
    "tanh": (lambda z: jnp.tanh(z) ** 2, lambda z: mpmath.tanh(z) ** 2, ()),
    "swish": (lambda z: (z * jax.nn.sigmoid(z)) ** 2, lambda z: (z / (1 + mpmath.exp(-z))) ** 2, ()),
    "arctan": (lambda z: jnp.arctan(z) ** 2, lambda z: mpmath.atan(z) ** 2, ()),
    "softsign": (lambda z: (z / (1 + jnp.abs(z))) ** 2, lambda z: (z / (1 + abs(z))) ** 2, (0.0,)),
    "hard tanh": (lambda z: jnp.clip(z, -1, 1) ** 2, lambda z: max(min(z, 1), -1) ** 2, (-1.0, 1.0)),
}


def exact(function, K, weight=lambda z, K: 1):
    """The same average by adaptive quadrature with 30 digits."""
    with mpmath.workdps(30):
        K = mpmath.mpf(K)
        deviation = mpmath.sqrt(K)
        points = {0, *(s * deviation for s in (-14, -3, -1, 1, 3, 14))}
        points |= {mpmath.mpf(p) for p in (-100, -10, -3, -1, 1, 3, 10, 100) if abs(p) < 14 * deviation}

        def density(z):
            return mpmath.exp(-z * z / (2 * K)) / mpmath.sqrt(2 * mpmath.pi * K)

        return float(mpmath.quad(lambda z: function(z) * weight(z, K) * density(z), sorted(points)))


@pytest.mark.parametrize("K", [1e-6, 1e-3, 1.0, 10.0, 1e3, 1e6])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_average_is_exact_to_rounding(name, K):
    """PDLT (1.68)."""
    function, reference, kinks = FUNCTIONS[name]
    np.testing.assert_allclose(line_average(function, jnp.asarray(K), kinks), exact(reference, K), rtol=1e-14)


@pytest.mark.parametrize("K", [1e-3, 1.0, 10.0, 1e3])
@pytest.mark.parametrize(
    "name", ["tanh", "softsign", *(pytest.param(name, marks=pytest.mark.measured) for name in ("swish", "arctan"))]
)
def test_derivatives_in_the_variance(name, K):
    """PDLT (5.53): the derivative of an average is an average with weight (z^2 - K) / 2 K^2."""
    function, reference, kinks = FUNCTIONS[name]

    def average(K):
        return line_average(function, K, kinks)

    first = exact(reference, K, lambda z, K: (z**2 - K) / (2 * K**2))
    second = exact(reference, K, lambda z, K: (z**4 - 6 * K * z**2 + 3 * K**2) / (4 * K**4))
    slope, curvature = jax.jit(jax.value_and_grad(jax.grad(average)))(K)
    np.testing.assert_allclose(slope, first, rtol=1e-12)
    np.testing.assert_allclose(curvature, second, rtol=1e-10)
