"""Angles and the arc sine against NumPy's, to the last digits, and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np

from finitewidth.gaussian.angle import angle, arcsine


def test_arcsine():
    """Everywhere on [-1, 1], and close to the ends."""
    near = 1 - np.geomspace(1e-16, 0.5, 400)
    x = np.concatenate([np.linspace(-1, 1, 20001), near, -near, np.geomspace(1e-300, 0.1, 200)])
    np.testing.assert_allclose(arcsine(jnp.asarray(x)), np.arcsin(x), rtol=4e-16)


def test_derivative_of_arcsine():
    """d arcsin = 1 / sqrt(1 - x^2)."""
    x = jnp.linspace(-0.99, 0.99, 9)
    np.testing.assert_allclose(jax.vmap(jax.grad(arcsine))(x), 1 / np.sqrt(1 - np.asarray(x) ** 2), rtol=1e-14)


def test_angles_of_every_size():
    """In all four quadrants and on the axes, of slopes from 1e-300 to 1e300, to two units of rounding."""
    slopes = np.concatenate([np.geomspace(1e-300, 1e300, 2001), np.linspace(0.0, 3.0, 20001)])
    y, x = (each.ravel() for each in np.meshgrid(slopes, [-1.0, 1.0]))
    for opposite, adjacent in ((y, x), (-y[y > 0], x[y > 0]), (np.ones(3), np.array([-1e-300, 0.0, 1e-300]))):
        expected = np.arctan2(opposite, adjacent)
        np.testing.assert_allclose(angle(jnp.asarray(opposite), jnp.asarray(adjacent)), expected, rtol=4.5e-16)


def test_derivatives_of_angles():
    """Of both arguments: (x dy - y dx) / (x^2 + y^2)."""
    y, x = np.array([0.3, -2.0, 1.0]), np.array([1.1, 0.4, -3.0])
    by_y, by_x = jax.vmap(jax.grad(angle, (0, 1)))(jnp.asarray(y), jnp.asarray(x))
    np.testing.assert_allclose(by_y, x / (x**2 + y**2), rtol=1e-15)
    np.testing.assert_allclose(by_x, -y / (x**2 + y**2), rtol=1e-15)
