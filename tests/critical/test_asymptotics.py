"""Late layers: series against flows iterated independently, constants known independently, and the erratum of (5.143)."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth._errors import DomainError
from finitewidth.critical import (
    CriticalPoint,
    Stability,
    asymptotics,
    kernel_series,
    semi_critical_asymptotics,
    single_input_flow,
)
from finitewidth.critical.large_depth import zero_kernel_series
from finitewidth.critical.large_depth.half_stable import half_stable
from finitewidth.critical.one_input.averages import SingleInput

pytestmark = pytest.mark.optimised


def sine_kernels(depth, K1=1.0):
    """The critical kernel of sin by its closed form."""
    K = np.empty(depth)
    K[0] = K1
    for layer in range(1, depth):
        K[layer] = -math.expm1(-2 * K[layer - 1]) / 2
    return K


@pytest.fixture(scope="module")
def sine():
    return asymptotics("sin", [1e3, 1e4, 1e5, 1e9])


def test_kernel_of_sine(sine):
    r"""PDLT (5.94): what is left out is of order $\ell^{-3}$; the relative error at $10^4$ layers is below $10^{-9}$."""
    exact = sine_kernels(100_000)[[999, 9_999, 99_999]]
    error = np.abs(sine.K[:3] / exact - 1)
    assert error[1] < 1e-9
    np.testing.assert_allclose(np.log10(error[:-1] / error[1:]), 2, atol=0.1)


def test_constants_of_sine(sine):
    r"""PDLT (5.94)-(5.99): $\ell_0 = 0.83848$, $\ell^2\prod\chi_\parallel \to 0.61155$, $\ell\prod\chi_\perp \to 1.55000$."""
    np.testing.assert_allclose(sine.l_0, 0.83848, atol=1e-5)
    np.testing.assert_allclose(sine.parallel[-1] * 1e18, 0.61155, atol=1e-5)
    np.testing.assert_allclose(sine.perp[-1] * 1e9, 1.55000, atol=1e-5)


def test_differences_of_sine(sine):
    r"""PDLT (5.97), (5.99): products of susceptibilities in closed form.

    The remainder of (5.97) follows from (5.94), because $\delta K_{[1]} \propto \partial K/\partial\log\ell_0$: relative
    $-\frac{a_2-a_1^2}{a_1^2}\frac1\ell$, which is $\frac1{3\ell}$ for sin.
    """
    K = sine_kernels(10_000)
    parallel, perp = np.exp(-2 * np.cumsum(K)), np.exp(np.cumsum(np.log((1 + np.exp(-2 * K)) / 2)))
    for i, layer in enumerate((1000, 10_000)):
        np.testing.assert_allclose(layer * (parallel[layer - 2] / sine.parallel[i] - 1), 1 / 3, rtol=0.05)
        np.testing.assert_allclose(perp[layer - 2], sine.perp[i], rtol=1 / layer)


def test_starting_depth_of_tanh():
    r"""PDLT (5.94): $\ell_0 \approx 1.70$ from $K^{(1)} = \frac12$."""
    np.testing.assert_allclose(asymptotics("tanh", [100.0], 0.5).l_0, 1.70, atol=0.01)


def not_odd(z):
    return jnp.sin(z) + (1 - jnp.cos(z)) / 2


SMOOTH = {  # a1, a2, b1; the coefficient of 1/l^2 in V; l G1 when renormalised, and what is printed for it
    "sin": ((-1, 2 / 3, -1), -1.5556, 2.22222, 0.667),
    "tanh": ((-2, 17 / 3, -2), -0.0764, 1.2361, 1.083),
    "erf": ((-2, 14 / 3, -2), None, 1.1944, 0.833),
    "arctan": ((-2, 23 / 3, -2), None, 1.3194, 1.583),
    "not odd": ((-13 / 16, None, -3 / 4), 1.4082, -0.0615, 1.083),
}


def coefficients(name):
    series = kernel_series(not_odd if name == "not odd" else name)
    return series.a1, series.a2, series.b1


def corrected_metric(name):
    return float(zero_kernel_series.renormalised_metric(*coefficients(name), jnp.asarray(1.0)))


@pytest.mark.parametrize("name", SMOOTH)
def test_renormalised_metric(name):
    r"""PDLT (5.143) corrected: $\ell G^{\{1\}} \to (84a_1^2-90a_1b_1-a_2)/3a_1^3$, in numbers."""
    np.testing.assert_allclose(corrected_metric(name), SMOOTH[name][2], atol=6e-5)


@functools.cache
def renormalised_flow(name, depth):
    r"""With $c_W^{\{1\}} = \frac23$, which changes neither the kernel nor the vertex."""
    return single_input_flow(not_odd if name == "not odd" else name, 1.0, depth, 0.0, 1.0, c_W1=2 / 3)


@pytest.mark.parametrize("name", ["sin", "tanh", "not odd"])
def test_renormalised_metric_is_that_of_the_flow(name):
    """PDLT (5.143) corrected: forty thousand layers agree, and refute the printed coefficient."""
    depth = 40_000
    measured = depth * float(renormalised_flow(name, depth).G1[-1])
    np.testing.assert_allclose(measured, corrected_metric(name), atol=4e-3)
    assert abs(measured - SMOOTH[name][3]) > 0.1


def test_the_printed_metric_drops_a_term_of_the_vertex():
    r"""PDLT (5.127), (5.143): printed = corrected with the term of $V$ in $1/\ell^2$ without logarithm set to zero."""
    for name, (_, _, expected, printed) in SMOOTH.items():
        a1, a2, b1 = coefficients(name)
        constant = (5 * a2 + a1 * (82 * a1 - 90 * b1)) / (3 * a1**4)
        # G1' = (1 - 2/l) G1 + a1 V + ...: a term c/l^2 of V adds a1 c/l to G1
        np.testing.assert_allclose(expected - a1 * constant, printed, atol=6e-4)


@pytest.mark.parametrize("name", ["sin", "tanh", "not odd"])
def test_vertex(name):
    r"""PDLT (5.127), (5.131): the coefficient of $1/\ell^2$, after the leading term and the logarithm."""
    a1, a2, b1 = coefficients(name)
    depth = 40_000
    flow = renormalised_flow(name, depth)
    l_0 = float(zero_kernel_series.starting_depth(a1, a2, depth, flow.K[-1]))
    log = 2 * (a2 - a1**2) / (3 * a1**4) * math.log(depth / l_0)
    measured = depth**2 * (float(flow.V[-1]) - 2 / (3 * a1**2 * depth)) - log
    np.testing.assert_allclose(measured, SMOOTH[name][1], atol=5e-3)
    predicted = float(zero_kernel_series.vertex(a1, a2, b1, l_0, jnp.asarray(float(depth))))
    np.testing.assert_allclose(predicted, flow.V[-1], rtol=1e-7)


def test_metric_limit():
    r"""PDLT (5.134)-(5.136): $G^{\{1\}} \to -\frac1{3(-a_1)}$, and $\frac{2-3t}{6a_1}$ when $C_W$ is corrected by $t$."""
    depth = 20_000
    for tuning in (0.0, -1.0):
        flow = single_input_flow("tanh", 1.0, depth, 0.0, 1.0, c_W1=tuning)
        np.testing.assert_allclose(flow.G1[-1], zero_kernel_series.metric(-2.0, tuning), atol=2e-3)
    np.testing.assert_allclose(asymptotics("tanh", [1e4]).G1, -1 / 6, rtol=1e-13)
    biased = single_input_flow("tanh", 1.0, depth, 0.0, 1.0, c_b1=0.6)
    np.testing.assert_allclose(biased.G1[-1] / depth, 0.2, rtol=2e-3)  # c_b l / 3


def test_asymptotics_of_tanh_meet_the_flow():
    """PDLT (5.94), (5.97), (5.99), (5.127), (5.134): every field at layer 5000."""
    late = asymptotics("tanh", [5000.0], 0.5)
    flow = jax.tree.map(lambda part: part[:5000], single_input_flow("tanh", 0.5, 20_000, 0.0, 1.0))
    # The first terms left out are of relative order 1/l^2 for K, log^2/l^2 for V, log/l for the others.
    np.testing.assert_allclose(late.K[0], flow.K[-1], rtol=1 / 5000**2)
    np.testing.assert_allclose(late.V[0], flow.V[-1], rtol=10 / 5000**2)
    np.testing.assert_allclose(late.parallel[0], np.prod(np.asarray(flow.chi_parallel)[:-1]), rtol=1 / 5000)
    np.testing.assert_allclose(late.perp[0], np.prod(np.asarray(flow.chi_perp)[:-1]), rtol=1 / 5000)
    np.testing.assert_allclose(late.G1[0], flow.G1[-1], rtol=10 / 5000)


def test_softsign():
    r"""PDLT (5.92) for $K' = K - cK^{3/2}$: $K \to 4/c^2\ell^2$, $V \to \frac23\ell K^2$, $G^{\{1\}} \to -\frac14\ell K$."""
    depth = 20_000
    late = asymptotics("softsign", [depth])
    np.testing.assert_allclose(late.K[0] * depth**2, 4 / (32 / math.pi), rtol=1e-11)
    flow = single_input_flow("softsign", 1.0, depth, 0.0, 1.0)
    for predicted, measured in [(late.K, flow.K), (late.V, flow.V), (late.G1, flow.G1)]:
        np.testing.assert_allclose(predicted[0], measured[-1], rtol=3e-3)
    np.testing.assert_allclose(late.parallel[0], np.prod(np.asarray(flow.chi_parallel)[:-1]), rtol=3e-3)


def test_fine_tuned():
    r"""PDLT footnote 19: $a_1 = 0$, $a_2 = -\frac32$: $K\sqrt{2(-a_2)\ell} \to 1$ and $V/K^2\ell \to \frac23$."""
    depth = 20_000  # where `asymptotics` reads off its constants: one program for both

    def fine_tuned(z):
        return z - z**5 / 20

    flow = single_input_flow(fine_tuned, 0.3, depth, 0.0, 1.0)
    np.testing.assert_allclose(float(flow.K[-1]) * math.sqrt(3 * depth), 1, rtol=2e-3)
    np.testing.assert_allclose(float(flow.V[-1] / flow.K[-1] ** 2) / depth, 2 / 3, rtol=2e-3)
    late = asymptotics(fine_tuned, [depth], 0.3)
    for predicted, measured in [(late.K, flow.K), (late.V, flow.V), (late.G1, flow.G1)]:
        np.testing.assert_allclose(predicted[0], measured[-1], rtol=3e-3)


def test_scale_invariant():
    r"""PDLT (5.116), (5.120): critical and semi-critical forms are exact; $p_0 = -1$, $p_V = -3$, $V/K^2 \to \frac\nu3\ell$."""
    layers = np.arange(1, 41)
    critical = asymptotics("relu", layers, 1.5)
    flow = single_input_flow("relu", 1.5, 40, 0.0, 2.0)
    np.testing.assert_allclose(critical.V, flow.V, rtol=1e-13)
    np.testing.assert_allclose(critical.K, flow.K, rtol=1e-13)
    semi = semi_critical_asymptotics("relu", layers, 0.3, 1.5)
    flow = single_input_flow("relu", 1.5, 40, 0.3, 2.0)
    np.testing.assert_allclose(semi.K, flow.K, rtol=1e-13)
    np.testing.assert_allclose(semi.V, flow.V, rtol=1e-13)
    late = semi_critical_asymptotics("relu", [1e5, 1e6], 0.3, 1.5)
    np.testing.assert_allclose(late.V / late.K**2 / late.layers, 5 / 3, rtol=1e-3)
    np.testing.assert_allclose(np.log10(late.V[1] / late.V[0]), 3, atol=1e-4)


@pytest.mark.parametrize("curvature", [-1e-3, 2e-3])
def test_half_stable_formulas(curvature):
    r"""PDLT (5.102)-(5.103): the quadratic map iterated, from early layers to where V is a fifth of its early growth."""
    K_star, C_W, source, slope = 2.0, 1.5, 0.7, 3e-4
    side = Stability.FROM_ABOVE if curvature < 0 else Stability.FROM_BELOW
    point = CriticalPoint(0.1, C_W, K_star, side, curvature)
    at = SingleInput(*(jnp.asarray(v) for v in (0, 0, 0, 1 / C_W, slope / C_W, source / C_W**2)))
    start = K_star - math.copysign(0.5, curvature)
    difference, V, G1, perp, parallel = start - K_star, 0.0, 0.0, 1.0, 1.0
    depth = 200_001
    for layer in range(1, depth + 1):
        if layer in (2, 100, 1000, 10_000, depth):
            predicted = [float(part) for part in half_stable(point, at, jnp.asarray(float(layer)), start)]
            exact = [K_star + difference, parallel, perp, V, G1]
            np.testing.assert_allclose(predicted[:4], exact[:4], rtol=5e-3)
            np.testing.assert_allclose(predicted[4], exact[4], rtol=2e-2, atol=1e-3)
        chi = 1 + 2 * curvature * difference
        G1 = chi * G1 + curvature * V
        V = chi**2 * V + source
        parallel *= chi
        perp *= 1 + slope * difference
        difference += curvature * difference**2
    np.testing.assert_allclose(V / (source * depth), 1 / 5, rtol=2e-2)
    np.testing.assert_allclose(difference * -curvature * depth, 1, rtol=2e-2)


def test_half_stable_gelu(verdict):
    """PDLT (5.105)-(5.106): near the point of GELU the formulas follow the real flow."""
    point = verdict("gelu").point
    start = point.K_star + 2e-3
    late = asymptotics("gelu", [20_000.0], start)
    flow = single_input_flow("gelu", start, 20_000, point.C_b, point.C_W)
    np.testing.assert_allclose(late.K[0] - point.K_star, flow.K[-1] - point.K_star, rtol=5e-3)
    np.testing.assert_allclose(late.V[0], flow.V[-1], rtol=5e-3)
    np.testing.assert_allclose(late.G1[0], flow.G1[-1], rtol=2e-2)
    np.testing.assert_allclose(late.perp[0], np.prod(np.asarray(flow.chi_perp)[:-1]), rtol=5e-3)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("sigmoid", [10.0]), "activation"),
        (("tanh", [0.0]), "layers"),
        (("tanh", [10.0], 0.0), "K1"),
        (("gelu", [10.0], 3.0), "K1"),
    ],
)
def test_bad_arguments(arguments, named):
    """Each names the argument; GELU's point attracts from above only."""
    with pytest.raises(DomainError) as caught:
        asymptotics(*arguments)
    assert caught.value.argument == named
