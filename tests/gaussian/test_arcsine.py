"""The arc sine against NumPy's, to the last digits, and its derivative."""

import jax
import jax.numpy as jnp
import numpy as np

from finitewidth.gaussian.arcsine import arcsine


def test_values():
    """Everywhere on [-1, 1], and close to the ends."""
    near = 1 - np.geomspace(1e-16, 0.5, 400)
    x = np.concatenate([np.linspace(-1, 1, 20001), near, -near, np.geomspace(1e-300, 0.1, 200)])
    np.testing.assert_allclose(arcsine(jnp.asarray(x)), np.arcsin(x), rtol=4e-16)


def test_derivative():
    """d arcsin = 1 / sqrt(1 - x^2)."""
    x = jnp.linspace(-0.99, 0.99, 9)
    np.testing.assert_allclose(jax.vmap(jax.grad(arcsine))(x), 1 / np.sqrt(1 - np.asarray(x) ** 2), rtol=1e-14)
