"""The public door: mixed functions, variables without variance, and what it refuses."""

import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw

K = np.array([[1.0, 0.2, 0.1, 0.3], [0.2, 1.0, 0.5, 0.1], [0.1, 0.5, 1.0, 0.2], [0.3, 0.1, 0.2, 1.0]])


def test_mixed_functions():
    """PDLT (1.68): <sin(z_1) z_2> = K_12 exp(-K_11 / 2), and the same with a third, constant factor."""
    sine, line = fw.ACTIVATIONS["sin"], fw.ACTIVATIONS["linear"]
    expected = 0.2 * np.exp(-0.5)
    np.testing.assert_allclose(fw.gaussian_expectation([sine, line], K[:2, :2]), expected, rtol=1e-10)
    three = fw.gaussian_expectation([sine, line, lambda z: 1 + 0 * z], K[:3, :3])
    np.testing.assert_allclose(three, expected, rtol=1e-8)


def test_a_variable_without_variance_is_zero():
    """Constants come out."""
    singular = np.diag([1.0, 0.0])
    np.testing.assert_allclose(fw.gaussian_expectation([jnp.square, jnp.cos], singular), 1.0, rtol=1e-10)
    assert float(fw.gaussian_expectation([jnp.exp], [[0.0]])) == 1.0


def test_refusals():
    """Numbers of functions and variables, and things that are not functions."""
    with pytest.raises(fw.ShapeError, match="one function for each"):
        fw.gaussian_expectation([jnp.tanh], K)
    with pytest.raises(fw.ArgumentError, match="callable"):
        fw.gaussian_expectation([3.0], [[1.0]])
    with pytest.raises(fw.ArgumentError, match="positive semi-definite"):
        fw.gaussian_expectation([jnp.tanh] * 2, [[1.0, 2.0], [2.0, 1.0]])
