"""Averages of derivatives with their delta functions, against closed forms and derivatives by the covariance."""

import itertools
import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from finitewidth.activations.closed_pairs import absolute_value_pair, step_pair
from finitewidth.gaussian import distributional, piecewise
from finitewidth.gaussian.function import Function
from finitewidth.gaussian.pairs import pair_moment


def _elu(alpha):
    return Function(lambda z: jnp.where(z > 0, z, alpha * jnp.expm1(jnp.minimum(z, 0.0))), (0.0,))


ABSOLUTE = Function(jnp.abs, (0.0,))
STEP = Function(lambda z: jnp.where(z > 0, 1.0, 0.0), (0.0,))
SOFTSIGN = Function(lambda z: z / (1 + jnp.abs(z)), (0.0,))
HARD_TANH = Function(lambda z: jnp.clip(z, -1.0, 1.0), (-1.0, 1.0))
ELU = _elu(1.0)
SCALED_ELU = _elu(2.0)
TANH = Function(jnp.tanh)

PAIRS = {
    "softsign": (SOFTSIGN, SOFTSIGN),
    "elu": (ELU, ELU),
    "scaled_elu": (SCALED_ELU, SCALED_ELU),
    "hard_tanh": (HARD_TANH, HARD_TANH),
    "scaled_elu_hard_tanh": (SCALED_ELU, HARD_TANH),
    "tanh_scaled_elu": (TANH, SCALED_ELU),
}
COVARIANCE = (1.2, 0.5, 0.8)
distributional_pair = jax.jit(distributional.distributional_pair, static_argnums=(0, 1, 2, 3))


@pytest.mark.parametrize(("i", "j"), [(1, 1), (0, 2), (3, 1), (0, 4), (4, 4)])
def test_absolute_values_match_their_closed_form(i, j):
    """PDLT (5.159) and its derivatives by the covariance; zero at coincidence where they diverge."""
    Kaa, Kab, Kbb = (
        jnp.array([1.3, 0.2, 1.0, 1.0]),
        jnp.array([0.4, -0.31, 1.0 - 1e-6, 1.0]),
        jnp.array([0.7, 0.9, 1.0, 1.0]),
    )
    expected = absolute_value_pair(i, j, Kaa, Kab, Kbb)
    if (i, j) == (4, 4):  # 4 (1 + 2 rho^2) / (2 pi (1 - rho^2)^(5/2)) in 50 digits: the closed form loses 3e-11 here
        expected = jnp.asarray(expected).at[2].set(337618590399790.43)
    np.testing.assert_allclose(
        distributional_pair(ABSOLUTE, i, ABSOLUTE, j, Kaa, Kab, Kbb), expected, rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize(("i", "j"), [(0, 0), (1, 1), (2, 0), (2, 2), (3, 1)])
def test_steps_match_their_closed_form(i, j):
    """PDLT (5.53) from the orthant probability: a jump of the value itself."""
    Kaa, Kab, Kbb = jnp.array([1.3, 0.2, 1.0]), jnp.array([0.4, -0.31, 1.0]), jnp.array([0.7, 0.9, 1.0])
    expected = step_pair(i, j, Kaa, Kab, Kbb)
    np.testing.assert_allclose(distributional_pair(STEP, i, STEP, j, Kaa, Kab, Kbb), expected, rtol=1e-12, atol=1e-13)


def test_second_derivatives_of_hard_tanh_are_densities_at_its_corners():
    """PDLT (5.53): $f'' = \\delta(z+1) - \\delta(z-1)$."""
    Kaa, Kab, Kbb = COVARIANCE
    law = multivariate_normal(np.zeros(2), [[Kaa, Kab], [Kab, Kbb]])
    expected = sum(s * t * law.pdf([s, t]) for s, t in itertools.product((-1, 1), repeat=2))
    assert float(distributional_pair(HARD_TANH, 2, HARD_TANH, 2, *COVARIANCE)) == pytest.approx(expected, rel=1e-13)


def square_average(f):
    return jax.jit(lambda k: piecewise.pair_average(f, f, f.places, f.places, k, k, k))


def derivative(function, x, h=4e-3):
    """Central differences to order h^6."""
    weights = {1: 45, 2: -9, 3: 1}
    return sum(w * (function(x + k * h) - function(x - k * h)) for k, w in weights.items()) / (60 * h)


@pytest.mark.parametrize(
    ("name", "i", "j"),
    [
        pytest.param("softsign", 2, 0, marks=pytest.mark.measured),
        ("scaled_elu", 0, 0),
        pytest.param("scaled_elu", 1, 1, marks=pytest.mark.measured),
        ("hard_tanh", 2, 2),
        pytest.param("tanh_scaled_elu", 1, 1, marks=pytest.mark.measured),
    ],
)
def test_derivatives_by_the_covariance_are_averages_of_derivatives(name, i, j):
    """PDLT (5.53) for each entry of the covariance; delta functions count."""
    f, g = PAIRS[name]
    for entry, (p, q), factor in ((0, (2, 0), 2), (1, (1, 1), 1), (2, (0, 2), 2)):

        def lower(x, entry=entry):
            covariance = [x if k == entry else value for k, value in enumerate(COVARIANCE)]
            return float(distributional_pair(f, i, g, j, *covariance))

        expected = factor * derivative(lower, COVARIANCE[entry])
        raised = float(distributional_pair(f, i + p, g, j + q, *COVARIANCE))
        assert raised == pytest.approx(expected, rel=1e-9, abs=1e-10)


ONE_FUNCTION_MORE = {"elu", "scaled_elu"}  # the pairs with another function have the same kinks


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.measured if name in ONE_FUNCTION_MORE else ()) for name in PAIRS]
)
def test_integration_by_parts(name):
    """$\\langle z_a f'(z_a)\\,g(z_b)\\rangle = K_{aa}\\langle f''g\\rangle + K_{ab}\\langle f'g'\\rangle$, PDLT (5.53)."""
    f, g = PAIRS[name]
    Kaa, Kab, Kbb = (jnp.array(x) for x in ([1.2, 0.01, 5.0], [0.5, -0.0099, 4.9], [0.8, 0.01, 5.0]))
    slope = f.derivative(1)
    left = piecewise.pair_average(lambda z: z * slope(z), g, f.places, g.places, Kaa, Kab, Kbb)
    right = Kaa * distributional_pair(f, 2, g, 0, Kaa, Kab, Kbb) + Kab * distributional_pair(f, 1, g, 1, Kaa, Kab, Kbb)
    np.testing.assert_allclose(left, right, rtol=1e-11, atol=1e-14)


@pytest.mark.measured
def test_coincident_variables():
    """PDLT (5.50): $g'(K) = \\langle f'^2 + f f''\\rangle_K$ holds at coincidence, where only deltas on deltas are dropped."""
    K = jnp.array([0.3, 2.0])
    for f in (SOFTSIGN, SCALED_ELU, HARD_TANH):
        slope = derivative(square_average(f), K)
        moments = distributional_pair(f, 1, f, 1, K, K, K) + distributional_pair(f, 2, f, 0, K, K, K)
        np.testing.assert_allclose(moments, slope, rtol=1e-9)
    nearly = distributional_pair(SOFTSIGN, 2, SOFTSIGN, 2, K, (1 - 1e-13) * K, K)
    np.testing.assert_allclose(distributional_pair(SOFTSIGN, 2, SOFTSIGN, 2, K, K, K), nearly, rtol=1e-5)
    assert not np.any(distributional_pair(HARD_TANH, 2, HARD_TANH, 2, K, K, K))


def test_at_a_common_kink_both_sides_count_half():
    """The limit of coincidence: $\\langle\\delta(z_a)\\,f''(z_b)\\rangle$ sees the mean of the two one-sided values."""
    K = jnp.asarray(1.0)
    near, at = (float(distributional_pair(ELU, 3, ELU, 2, K, c * K, K)) for c in (1 - 1e-12, 1.0))
    assert at == pytest.approx(near, rel=1e-5)


def test_covariances_broadcast_under_jit():
    """PDLT (5.53): elementwise over arrays."""
    values = distributional_pair(SCALED_ELU, 2, SCALED_ELU, 2, jnp.ones((2, 1)), jnp.array([0.1, 0.2, 0.3]), 1.0)
    assert values.shape == (2, 3)
    assert float(values[1, 2]) == pytest.approx(
        float(distributional.distributional_pair(SCALED_ELU, 2, SCALED_ELU, 2, 1.0, 0.3, 1.0)), rel=1e-13
    )


@pytest.mark.parametrize("separation", [1e-6, 1e-9, 1e-11])
def test_second_derivatives_of_a_step_beside_coincidence(separation):
    r"""PDLT (5.53): $\langle\theta''\theta''\rangle = \partial_a\partial_b\varphi(t, t)$ of the joint density, in 50 digits, however close
    the two inputs are."""
    t, Kaa, Kbb = 0.7, 0.7, 0.7 * (1 + 1e-5)
    Kab = (1 - separation) * math.sqrt(Kaa * Kbb)
    step = Function(lambda z: jnp.where(z > t, 1.0, 0.0), (t,))
    with mpmath.workdps(50):
        a, b, c, at = (mpmath.mpf(each) for each in (Kaa, Kab, Kbb, t))
        determinant = a * c - b * b
        x, y = (c - b) * at / determinant, (a - b) * at / determinant
        density = mpmath.exp(-(x + y) * at / 2) / (2 * mpmath.pi * mpmath.sqrt(determinant))
        expected = density * (x * y + b / determinant)
    found = pair_moment(step, 2, 2, jnp.asarray(Kaa), jnp.asarray(Kab), jnp.asarray(Kbb))
    assert float(found) == pytest.approx(float(expected), rel=1e-9)
