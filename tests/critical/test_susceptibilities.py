"""Susceptibilities against closed forms, an independent quadrature, and each other."""

import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from finitewidth._errors import DomainError
from finitewidth.activations import Activation, exponential, monomial, scale_invariant
from finitewidth.critical import susceptibilities
from finitewidth.critical.one_input.susceptibilities import susceptibilities_at

KERNELS = np.array([1e-6, 1e-3, 0.1, 0.7, 1.0, 3.0, 20.0])
HARD = Activation(lambda z: jnp.clip(z, -1.0, 1.5), (-1.0, 1.5), name="hard")
JUMPING = Activation(lambda z: jnp.where(z > 0.5, z + 1.0, z), (0.5,), name="jumping")

RATIOS = {  # of chi_perp to chi_parallel, at K = 0.1, 0.5, 1, 2, 3, 5, 10, 20
    "tanh": [1.185962, 1.824926, 2.554504, 3.950300, 5.316211, 8.017319, 14.717789, 28.071957],
    "sigmoid": [1.048877, 1.229478, 1.437140, 1.824926, 2.194549, 2.908473, 4.635403, 8.017319],
    "softplus": [0.598047, 0.623050, 0.647204, 0.682329, 0.707595, 0.742942, 0.793242, 0.840806],
    "swish": [0.962602, 0.914791, 0.909636, 0.923569, 0.938939, 0.961591, 0.989497, 1.006879],
    "gelu": [0.929696, 0.909264, 0.937039, 0.974802, 0.993609, 1.009623, 1.018514, 1.018554],
    "centered_softplus": [0.988893, 0.961899, 0.946130, 0.934320, 0.931211, 0.931874, 0.939431, 0.950939],
}


@pytest.mark.parametrize("name", RATIOS)
def test_ratio_of_susceptibilities(name):
    """PDLT (5.73), to all printed digits."""
    at = susceptibilities(name, [0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0], C_W=1.7)
    np.testing.assert_allclose(at.ratio, RATIOS[name], rtol=0, atol=5.001e-7)


def test_all_forms_agree_for_tanh(average):
    """PDLT (5.50)-(5.53), (5.111): every form of each quantity, by an independent quadrature."""
    K, C_W = 0.7, 1.3
    at = susceptibilities("tanh", K, C_W)
    sigma, slope = np.tanh, lambda z: np.cosh(z) ** -2.0
    bend = lambda z: -2 * np.tanh(z) / np.cosh(z) ** 2  # noqa: E731
    parallel = [
        C_W / (2 * K**2) * average(lambda z: sigma(z) ** 2 * (z**2 - K), K),
        C_W / K * average(lambda z: z * sigma(z) * slope(z), K),
        C_W * average(lambda z: slope(z) ** 2 + sigma(z) * bend(z), K),
    ]
    np.testing.assert_allclose(parallel, at.chi_parallel, rtol=1e-13)
    np.testing.assert_allclose(C_W * average(lambda z: slope(z) ** 2, K), at.chi_perp, rtol=1e-14)
    np.testing.assert_allclose(C_W / (4 * K**2) * average(lambda z: slope(z) ** 2 * (z**2 - K), K), at.h, rtol=1e-13)
    quartic = average(lambda z: sigma(z) ** 2 * ((z**2 / K) ** 2 - 6 * z**2 / K + 3), K)
    np.testing.assert_allclose(C_W * quartic, at.j, rtol=1e-13)


def test_sine():
    r"""PDLT (5.50), (5.51), (5.111): $g' = e^{-2K}$, $\mathcal R = (1+e^{2K})/2$, $j/8K^2 = -C_We^{-2K}$."""
    K = np.append(KERNELS, 300.0)
    at = susceptibilities("sin", K, 1.5)
    np.testing.assert_allclose(at.chi_parallel, 1.5 * np.exp(-2 * K), rtol=1e-12)
    np.testing.assert_allclose(at.chi_perp, 0.75 * (1 + np.exp(-2 * K)), rtol=1e-14)
    np.testing.assert_allclose(at.h, -0.75 * np.exp(-2 * K), rtol=1e-9)
    np.testing.assert_allclose(at.j / (8 * K**2), -1.5 * np.exp(-2 * K), rtol=1e-9)


def test_erf():
    r"""PDLT (5.73): $\mathcal R = 1 + 2K$."""
    np.testing.assert_allclose(susceptibilities("erf", KERNELS).ratio, 1 + 2 * KERNELS, rtol=1e-13)


def test_gelu():
    r"""PDLT (5.50), (5.51), (5.104): closed forms of $\chi_\parallel-\chi_\perp$, of $\chi_\perp$ and of $g''$."""
    K = KERNELS
    at = susceptibilities("gelu", K)
    inner = np.arcsin(K / (1 + K)) + 2 * K / ((1 + K) * np.sqrt(1 + 2 * K)) + K / (1 + 2 * K) ** 1.5
    np.testing.assert_allclose(at.chi_perp, 0.25 + inner / (2 * math.pi), rtol=1e-13)
    gap = -K * (K**2 - 3 * K - 2) / (2 * math.pi * (1 + K) ** 2 * (1 + 2 * K) ** 1.5)
    np.testing.assert_allclose(at.chi_parallel - at.chi_perp, gap, rtol=1e-10, atol=1e-15)
    second = -(5 * K**3 - 11 * K**2 - 18 * K - 6) / (2 * math.pi * (1 + K) ** 3 * (1 + 2 * K) ** 2.5)
    np.testing.assert_allclose(at.j / (4 * K**2), second, rtol=1e-9)


@pytest.mark.parametrize("power", [2, 7])
def test_monomials(power):
    r"""PDLT (5.74)-(5.78): $\mathcal R = p/(2p-1)$ for every kernel."""
    ratio = susceptibilities(monomial(power), KERNELS).ratio
    np.testing.assert_allclose(ratio, power / (2 * power - 1), rtol=1e-11)


def test_exponential():
    r"""PDLT (5.73): $\mathcal R = \frac12$ for every kernel, also where the tails of the average are far out."""
    np.testing.assert_allclose(susceptibilities(exponential(), [0.01, 0.3, 1.0, 5.0, 80.0]).ratio, 0.5, rtol=1e-10)


@pytest.mark.parametrize("slopes", [(1.0, 0.0), (2.0, -0.7)])
def test_scale_invariant(slopes):
    r"""PDLT (5.61), (5.65)-(5.66): $\chi_\parallel = \chi_\perp = A_2C_W$ and $h = j = 0$."""
    at = susceptibilities(scale_invariant(*slopes), KERNELS, 1.3)
    expected = 1.3 * (slopes[0] ** 2 + slopes[1] ** 2) / 2
    for chi in (at.chi_parallel, at.chi_perp):
        np.testing.assert_allclose(chi, expected, rtol=1e-15)
    assert not np.any(at.h)
    assert not np.any(at.j)


@pytest.mark.parametrize(("low", "high", "K"), [(-1.0, 1.5, 0.8), (-1.0, 1.5, 6.0)])
def test_kinks_away_from_zero(low, high, K):
    r"""PDLT (5.50)-(5.52), (5.111) for a clipped line, whose averages are error functions, differentiated by mpmath."""

    def density(z, k):
        return mpmath.exp(-(z**2) / (2 * k)) / mpmath.sqrt(2 * mpmath.pi * k)

    def inside(k):
        return mpmath.ncdf(high / mpmath.sqrt(k)) - mpmath.ncdf(low / mpmath.sqrt(k))

    def g(k):
        second = k * inside(k) - k * (high * density(high, k) - low * density(low, k))
        return second + low**2 * mpmath.ncdf(low / mpmath.sqrt(k)) + high**2 * mpmath.ncdf(-high / mpmath.sqrt(k))

    at = susceptibilities(HARD, K)
    expected = [mpmath.diff(g, K), inside(K), mpmath.diff(inside, K) / 2, 4 * K**2 * mpmath.diff(g, K, 2)]
    measured = [at.chi_parallel, at.chi_perp, at.h, at.j]
    np.testing.assert_allclose(measured, [float(value) for value in expected], rtol=1e-12)


def test_kernel_of_a_jumping_activation(average):
    """PDLT (5.53): the slope and curvature of g count the jump, checked by central differences."""
    from finitewidth.critical.one_input.averages import single_input

    K, step = 0.6, 1e-3

    def g(k):
        return average(lambda z: np.where(z > 0.5, z + 1, z) ** 2, k, (0.5,))

    g0, up, down = g(K), (g(K + step), g(K + 2 * step)), (g(K - step), g(K - 2 * step))
    first = (8 * (up[0] - down[0]) - (up[1] - down[1])) / (12 * step)
    second = (16 * (up[0] + down[0]) - (up[1] + down[1]) - 30 * g0) / (12 * step**2)
    at = single_input(JUMPING, jnp.asarray(K))
    np.testing.assert_allclose([at.g, at.dg], [g0, first], rtol=1e-10)
    np.testing.assert_allclose(at.ddg, second, rtol=1e-7)


def test_differentiable():
    r"""PDLT (5.50), (5.111): the pure function passes through `jit` and `grad`, and $\chi_\parallel' = j/4K^2$."""
    from finitewidth.activations import ACTIVATIONS

    parallel = jax.jit(jax.grad(lambda K: susceptibilities_at(ACTIVATIONS["tanh"], K, 1.2).chi_parallel))
    np.testing.assert_allclose(parallel(0.6), susceptibilities("tanh", 0.6, 1.2).j / (4 * 0.36), rtol=1e-12)


def test_float64_whatever_the_setting():
    """The top-level call computes in float64 and leaves the setting alone."""
    with jax.enable_x64(False):
        at = susceptibilities("tanh", 1.0)
        assert jnp.ones(1).dtype == jnp.float32
    assert at.chi_parallel.dtype == np.float64
    np.testing.assert_allclose(at.ratio, 2.554504, atol=5e-7)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("perceptron", 1.0), "activation"),
        (("tanh", 0.0), "K"),
        (("tanh", -1.0), "K"),
        (("tanh", math.nan), "K"),
        (("tanh", 1.0, -2.0), "C_W"),
        ((lambda z: jnp.sin(z), 1e4), "K"),
        ((lambda z: jnp.exp(z), 100.0), "K"),
    ],
)
def test_bad_arguments(arguments, named):
    """Each names the argument; oscillations and tails are not integrated silently."""
    with pytest.raises(DomainError) as caught:
        susceptibilities(*arguments)
    assert caught.value.argument == named


def test_perceptron_says_why():
    """PDLT (5.51): chi_perp of the step function is infinite, and the error says so."""
    with pytest.raises(DomainError, match="chi_perp is infinite"):
        susceptibilities("perceptron", 1.0)


STEEP = {
    "tanh 60 z": (lambda z, xp: xp.tanh(60 * z), [0.0]),
    "arctan 40 (z - .8)": (lambda z, xp: xp.arctan(40 * (z - 0.8)), [0.8]),
    "z and a bump": (lambda z, xp: z + xp.exp(-(((z - 0.3) / 0.02) ** 2)), [0.3]),
}


@pytest.mark.parametrize("name", STEEP)
def test_steep_functions(name):
    r"""PDLT (5.50)-(5.51) of functions that vary on a scale far below one: $\chi_\parallel = C_Wg'(K)$, with $g' = \langle(z^2-K)\sigma^2
    \rangle/2K^2$, and $\chi_\perp$, on panels that get shorter towards the steep place."""
    formula, steep = STEEP[name]
    K, x = 0.8, np.polynomial.legendre.leggauss(40)
    distances = np.geomspace(1e-4, 20, 120)
    ends = np.unique([s * d + at for at in steep for d in distances for s in (-1, 1)] + steep)
    half = np.diff(ends)[:, None] / 2
    z, weights = (ends[:-1, None] + half * (1 + x[0])).ravel(), (half * x[1]).ravel()
    weights = weights * np.exp(-(z**2) / (2 * K)) / np.sqrt(2 * np.pi * K)
    slope = (formula(z + 1e-30j, np)).imag / 1e-30  # exact: no difference is taken
    at = susceptibilities(lambda z: formula(z, jnp), K, 1.3)
    assert float(at.chi_parallel) == pytest.approx(
        1.3 * np.sum(weights * (z**2 - K) * formula(z, np) ** 2) / (2 * K**2), rel=1e-10
    )
    assert float(at.chi_perp) == pytest.approx(1.3 * np.sum(weights * slope**2), rel=1e-10)
