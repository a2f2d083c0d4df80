"""The conditional law of a layer, and the expansions in the fluctuation of its metric."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth._errors import DomainError, ShapeError
from finitewidth.expansion.metric_fluctuations import (
    coupling_trend,
    expanded_determinant,
    expanded_exponential,
    expanded_inverse,
    interlayer_log_density,
    joint_log_density,
    layer_log_density,
)

G = np.array([[1.1, 0.3], [0.3, 0.7]])
D = np.array([[0.4, -0.3], [-0.3, 0.5]])
Z = np.array([[0.4, -1.0], [0.9, 0.3], [-0.2, 0.7]])


def exponential_ratio(D):
    return np.exp(-0.5 * np.einsum("ia,ab,ib->", Z, np.linalg.inv(G + D) - np.linalg.inv(G), Z))


@pytest.mark.parametrize(
    ("exact", "expanded"),
    [
        (lambda D: np.linalg.inv(G + D), lambda D: expanded_inverse(G, D)),
        (exponential_ratio, lambda D: expanded_exponential(Z, G, D)),
        (lambda D: (np.linalg.det(G + D) / np.linalg.det(G)) ** 1.5, lambda D: expanded_determinant(G, D, 3)),
    ],
    ids=["inverse", "exponential", "determinant"],
)
def test_expansions_leave_a_cubic_remainder(exact, expanded):
    """PDLT (4.55)-(4.57): halving the fluctuation divides the remainder by eight."""

    def remainder(e):
        return np.asarray(exact(e * D) - expanded(e * D))

    np.testing.assert_allclose(remainder(2e-3) / remainder(1e-3), 8.0, rtol=0.02)


def test_conditional_density_of_two_neurons_is_normalised():
    """PDLT (4.69)-(4.70): a trapezoid rule over z of the next layer, and its second moment is the metric."""
    previous = np.array([[0.7], [-0.2], [1.5]])
    grid = np.linspace(-9, 9, 181)
    following = np.array(list(itertools.product(grid, grid)))[:, :, None]
    log_density = jax.jit(jax.vmap(lambda z: interlayer_log_density(z, previous, jnp.tanh, 0.1, 1.5)))(following)
    weights = np.exp(log_density) * (grid[1] - grid[0]) ** 2
    metric = 0.1 + 1.5 * np.mean(np.tanh(previous) ** 2)
    np.testing.assert_allclose(weights.sum(), 1.0, rtol=1e-10)
    np.testing.assert_allclose(weights @ following[:, 0, 0] ** 2, metric, rtol=1e-10)
    np.testing.assert_allclose(weights @ (following[:, 0, 0] * following[:, 1, 0]), 0.0, atol=1e-12)


def test_the_determinant_that_the_printed_interlayer_action_omits():
    """PDLT (4.124)-(4.126): with it E[z^2] = E[G]; without it, E[G^{1+n/2}] / E[G^{n/2}], here 26% more."""
    K, C_b, C_W = 1.0, 0.1, 1.5
    grid = np.linspace(-8, 8, 161)
    layer_1 = np.exp(-(grid**2) / (2 * K))
    metric = C_b + C_W * np.tanh(grid) ** 2

    @jax.jit
    def joint(previous, following):
        first = jnp.array([[previous]])
        return joint_log_density([first, jnp.array([[following]])], [[K]], jnp.tanh, C_b, C_W)

    log_density = jax.vmap(lambda a: jax.vmap(lambda b: joint(a, b))(grid))(grid)
    full = np.exp(log_density)
    printed = np.exp(log_density + 0.5 * np.log(metric)[:, None])
    full_moment, printed_moment = ((weights * grid**2).sum() / weights.sum() for weights in (full, printed))
    np.testing.assert_allclose(full.sum() * (grid[1] - grid[0]) ** 2, 1.0, rtol=1e-6)
    np.testing.assert_allclose(full_moment, layer_1 @ metric / layer_1.sum(), rtol=1e-6)
    np.testing.assert_allclose(printed_moment, layer_1 @ metric**1.5 / (layer_1 @ metric**0.5), rtol=1e-6)
    assert printed_moment > 1.25 * full_moment


def test_joint_density_is_the_product_of_the_layers():
    """PDLT (4.13)-(4.15), PDLT (4.121)-(4.123): unequal widths, hyperparameters by layer, two samples."""
    rng = np.random.default_rng(0)
    layers = [rng.normal(size=(n, 2)) for n in (4, 3, 1)]
    C_b, C_W = [0.0, 0.1, 0.2], [1.0, 1.5, 2.0]
    expected = float(layer_log_density(layers[0], G))
    for i in (1, 2):
        activity = np.tanh(layers[i - 1])
        metric = C_b[i] + C_W[i] * activity.T @ activity / len(activity)
        exponent = -0.5 * np.trace(layers[i] @ np.linalg.inv(metric) @ layers[i].T)
        expected += exponent - 0.5 * len(layers[i]) * np.log(np.linalg.det(2 * np.pi * metric))
    np.testing.assert_allclose(joint_log_density(layers, G, jnp.tanh, C_b, C_W), expected, rtol=1e-12)


def test_hyperparameters_can_be_differentiated():
    """PDLT (4.69)-(4.70): the derivative by C_W against a central difference."""

    def log_density(C_W):
        return interlayer_log_density(Z, Z[::-1], jnp.tanh, 0.1, C_W)

    difference = (log_density(1.5 + 1e-5) - log_density(1.5 - 1e-5)) / 2e-5
    np.testing.assert_allclose(jax.grad(log_density)(1.5), difference, rtol=1e-8)


@pytest.mark.parametrize(
    ("coupling", "trend"),
    [
        (lambda depth: 2 * (depth - 1) / 100, "relevant"),
        (lambda depth: 1.2**depth, "relevant"),
        (lambda depth: 0.02 * (1 - 0.5**depth), "marginal"),
        (lambda depth: -1.0 / depth, "irrelevant"),
        (lambda depth: 0.7**depth, "irrelevant"),
    ],
)
def test_growth_with_depth_names_the_coupling(coupling, trend):
    """PDLT (4.127): growing, constant and shrinking couplings; the first layer may vanish."""
    assert coupling_trend(coupling(np.arange(1.0, 21.0))) == trend


@pytest.mark.parametrize(
    ("call", "error", "argument"),
    [
        (lambda: expanded_inverse(np.ones((2, 2)), D), DomainError, "G"),
        (lambda: expanded_inverse(G, np.zeros((3, 3))), ShapeError, "D"),
        (lambda: expanded_exponential(Z[:, :1], G, D), ShapeError, "z"),
        (lambda: expanded_determinant(G, D, 0), DomainError, "neurons"),
        (lambda: interlayer_log_density(Z, Z[:, :1], jnp.tanh, 0.1, 1.0), ShapeError, "z_next"),
        (lambda: interlayer_log_density(Z, Z, jnp.tanh, -0.1, 1.0), DomainError, "C_b"),
        (lambda: interlayer_log_density(Z, Z, jnp.sum, 0.1, 1.0), ShapeError, "sigma"),
        (lambda: layer_log_density(Z, np.ones((2, 2))), DomainError, "G"),
        (lambda: joint_log_density([Z], np.ones((2, 2)), jnp.tanh, 0.1, 1.0), DomainError, "G1"),
        (lambda: joint_log_density([Z, Z[:, :1]], G, jnp.tanh, 0.1, 1.0), ShapeError, "layers[1]"),
        (lambda: joint_log_density([Z, Z[:1], Z], G, jnp.tanh, 0.0, 1.0), DomainError, "layers[1]"),
        (lambda: joint_log_density([], G, jnp.tanh, 0.1, 1.0), ShapeError, "layers"),
        (lambda: coupling_trend(np.zeros(8)), DomainError, "coupling"),
        (lambda: coupling_trend([1.0, 2.0]), ShapeError, "coupling"),
    ],
)
def test_bad_input_names_the_argument(call, error, argument):
    with pytest.raises(error) as caught:
        call()
    assert caught.value.argument == argument


def test_fewer_neurons_than_samples_have_no_density():
    """PDLT (4.69)-(4.70): without a bias one neuron cannot span two samples."""
    with pytest.raises(DomainError, match="`z_prev`: got a singular matrix C_b"):
        interlayer_log_density(Z, Z[:1], jnp.tanh, 0.0, 1.0)
