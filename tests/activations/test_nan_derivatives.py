"""Functions as people write them, whose derivatives JAX makes NaN or takes from a lone point."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import DomainError
from finitewidth.activations import as_activation

K = np.array([[1.0, 0.3], [0.3, 0.5]])


def average(function, variables):
    return lambda k: fw.gaussian_expectation([function] * variables, k * K[:variables, :variables])


def test_branches_that_are_not_taken():
    r"""Backwards the slope of the root is NaN below zero; $\langle z_+^{3/2}\rangle_k\propto k^{3/4}$, PDLT (1.68)."""
    mean = average(lambda z: jnp.where(z > 0, z**1.5, 0.0), 1)
    slope, curvature = jax.value_and_grad(jax.grad(mean))(1.0)
    np.testing.assert_allclose([slope, curvature], [0.75 * mean(1.0), -0.1875 * mean(1.0)], rtol=1e-11)


@pytest.mark.parametrize(
    ("function", "order"),
    [(lambda z: jnp.sqrt(jnp.maximum(z, 0.0)), 1), (lambda z: jnp.where(z == 0, 1.0, jnp.sin(z) / z), 2)],
)
def test_derivatives_that_are_not_to_be_had(function, order):
    """Values are right, PDLT (1.68); derivatives, of which JAX has none or has that of the branch at zero, are refused."""
    z = np.linspace(1e-3, 12, 120_000)
    even = (np.asarray(function(jnp.asarray(z))) + np.asarray(function(jnp.asarray(-z)))) * np.exp(-(z**2) / 2)
    expected = (np.trapezoid(even, z) + (1e-3 * 2 if order == 2 else 2 * 1e-3**1.5 / 3)) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(average(function, 1)(1.0), expected, rtol=1e-6)
    with pytest.raises(DomainError, match=f"derivative of order {order}, as JAX takes it, is wrong or NaN"):
        jax.grad(average(function, 2))(1.0)
    again = as_activation(function)
    assert as_activation(again) == again


def test_quotients_have_no_kinks():
    r"""High derivatives of $\sin(z)/z$ near zero are rounding, no jumps; its mean is $\int_0^1e^{-t^2/2}dt$."""
    sinc = as_activation(lambda z: jnp.sinc(z / jnp.pi))
    assert sinc.kinks == ()
    expected = np.sqrt(np.pi / 2) * 0.6826894921370859
    np.testing.assert_allclose(average(sinc, 1)(1.0), expected, rtol=1e-12)
