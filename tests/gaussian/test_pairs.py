"""Two-point averages of every built-in activation against 30-digit quadrature, and their identities."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth.activations import ACTIVATIONS, Activation
from finitewidth.gaussian.accuracy import gram_rule, pair_rule
from finitewidth.gaussian.pairs import mixed_moment, pair_moment, square_average
from references import REFERENCES, exact_pair

MEASURED = pytest.mark.measured  # kinds of functions that another one of the list stands for
NOTHING = 1e-30  # of functions of order one that vanish within sixteen deviations
RHOS = (-1.0, -0.9999, -0.7, 0.0, 0.3, 0.95, 1.0)


def covariances(K, rhos, ratio=1.0):
    """Covariances with variances K and K * ratio, one for each correlation."""
    rhos = np.asarray(rhos)
    return np.full_like(rhos, K), rhos * K * np.sqrt(ratio), np.full_like(rhos, K * ratio)


@pytest.mark.parametrize("K", [1e-3, pytest.param(1.0, marks=pytest.mark.measured), 10.0])
@pytest.mark.parametrize("name", REFERENCES)
def test_pairs_are_right_to_ten_digits(name, K):
    """PDLT (4.25), PDLT (5.1): relative to the root of both squares' averages, at all correlations."""
    activation = ACTIVATIONS[name]
    scale = float(square_average(activation, jnp.asarray(K)))
    rule = gram_rule(activation, K)
    values = jax.jit(lambda *k: pair_moment(activation, 0, 0, *k, rule))(*covariances(K, RHOS))
    expected = [exact_pair(name, K, rho) for rho in RHOS]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10 * scale + NOTHING)


@pytest.mark.parametrize(
    "name", ["tanh", "gelu", "sin", "z^3", *(pytest.param(name, marks=MEASURED) for name in ("erf", "softplus"))]
)
def test_modes_grid_and_closed_forms_agree(name):
    """Three ways to integrate the same derivatives, with unequal variances."""
    activation = ACTIVATIONS[name]
    plain = Activation(activation.value, name="plain")  # the same function, without what is known of it
    k = covariances(0.8, (-0.8, 0.2, 0.6), 1.2)
    on_grid, in_modes, fitting = pair_rule(plain, 1.0, 4), gram_rule(plain, 1.0), pair_rule(activation, 1.0, 4)

    def every_way(i, j, *k):
        ways = (mixed_moment(plain, i, plain, j, rule, *k) for rule in (on_grid, in_modes))
        return *ways, pair_moment(activation, i, j, *k, fitting)

    orders = ((0, 0), (1, 1), (2, 0), (2, 2))
    for grid, modes, known in jax.jit(lambda *k: [every_way(i, j, *k) for i, j in orders])(*k):
        np.testing.assert_allclose(modes, grid, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(known, grid, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize(
    "name",
    [
        "tanh",
        "gelu",
        "exp",
        "z^2",
        "relu",
        "softsign",
        *(pytest.param(name, marks=MEASURED) for name in ("erf", "abs")),
    ],
)
def test_derivatives_are_those_of_stein(name):
    """PDLT (5.53): custom derivatives against finite differences of the average itself."""
    activation = ACTIVATIONS[name]
    rule = pair_rule(activation, 2.0, 4)
    point = np.array([0.8, 0.35, 1.1])

    def average(k):
        return pair_moment(activation, 0, 0, k[0], k[1], k[2], rule)

    step = 1e-3
    around = point + step * np.eye(3)[:, None, :] * np.array([-2, -1, 1, 2])[:, None]
    values = np.asarray(jax.jit(average)(np.moveaxis(around, -1, 0)))
    differences = values @ np.array([1, -8, 8, -1]) / (12 * step)
    np.testing.assert_allclose(jax.jit(jax.grad(average))(point), differences, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", ["tanh", "gelu", "sin", "relu", pytest.param("swish", marks=MEASURED)])
def test_heat_equation(name):
    """The second derivatives obey kappa_{,12,12} = 4 kappa_{,11,22}."""
    activation = ACTIVATIONS[name]

    rule = pair_rule(activation, 2.0, 4)

    def average(k):
        return pair_moment(activation, 0, 0, k[0], k[1], k[2], rule)

    hessian = jax.jit(jax.hessian(average))(np.array([0.8, 0.35, 1.1]))
    np.testing.assert_allclose(hessian[1, 1], 4 * hessian[0, 2], rtol=1e-11)


def test_coincident_inputs_have_finite_gradients():
    """The gradient of a ReLU kernel at rho = 1 is finite and equals that of the square's average."""
    relu = ACTIVATIONS["relu"]
    gradient = jax.grad(lambda K: pair_moment(relu, 0, 0, K, K, K))(jnp.asarray(0.7))
    np.testing.assert_allclose(gradient, 0.5, rtol=1e-12)


def test_a_shifted_function():
    """A function with no symmetry and its feature away from zero."""
    shifted = Activation(lambda z: jnp.tanh(z - 1) + 0.1 * z, name="shifted")
    value = pair_moment(shifted, 0, 0, *covariances(2.0, (0.4,)), gram_rule(shifted, 2.0))
    expected = exact_pair(lambda z: np.tanh(z - 1) + z / 10, 2.0, 0.4)
    np.testing.assert_allclose(value[0], expected, rtol=1e-11)
