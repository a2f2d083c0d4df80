"""Finite angles: moments by polar quadrature, the flow in extended precision, its late layers."""

import math

import jax
import mpmath
import numpy as np
import pytest

from finitewidth._errors import DomainError
from finitewidth.activations import leaky_relu, scale_invariant
from finitewidth.critical import angle_flow, angle_moments, corner_strength, crossover_depth
from finitewidth.critical.two_inputs.angle_moments import quadrant_cube, quadrant_square, quadrant_squares
from finitewidth.critical.two_inputs.finite_angle import next_angle

ACTIVATIONS = [scale_invariant(1.0, 0.0), leaky_relu(0.1), scale_invariant(1.0, -1.0), scale_invariant(1.3, 0.4)]


def polar_average(function, degree, psi):
    """<f(z_+, z_-)> for f homogeneous of the given degree: the radius by its moment, the angle by Gauss-Legendre."""
    cuts = np.sort(np.array([0, math.pi / 2, 3 * math.pi / 2, psi + math.pi / 2, psi - math.pi / 2]) % (2 * math.pi))
    edges = np.append(cuts, cuts[0] + 2 * math.pi)
    x, w = np.polynomial.legendre.leggauss(40)
    middle, half = (edges[1:] + edges[:-1])[:, None] / 2, (edges[1:] - edges[:-1])[:, None] / 2
    theta = middle + half * x
    radial = 2 ** (degree / 2) * math.gamma(degree / 2 + 1)
    return radial * float(np.sum(half * w * function(np.cos(theta), np.cos(theta - psi)))) / (2 * math.pi)


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=["relu", "leaky", "abs", "general"])
@pytest.mark.parametrize("psi", [0.3, 2.0])
def test_moments(activation, psi):
    """PDLT (5.158)-(5.161) and the quartic moments, against polar quadrature."""
    a, b = activation.a_plus, activation.a_minus
    sigma = lambda z: np.where(z >= 0, a * z, b * z)  # noqa: E731
    slope = lambda z: np.where(z >= 0, a, b)  # noqa: E731
    found = angle_moments(activation, psi)
    expected = [
        polar_average(lambda p, m: sigma(p) * sigma(m), 2, psi),
        polar_average(lambda p, m: slope(p) * slope(m), 0, psi),
        polar_average(lambda p, m: sigma(p) ** 2 * sigma(m) ** 2, 4, psi),
        polar_average(lambda p, m: sigma(p) ** 3 * sigma(m), 4, psi),
    ]
    np.testing.assert_allclose([found.values, found.slopes, found.squares, found.cube], expected, rtol=1e-12)
    step = a - b
    values = step**2 * (math.sin(psi) - psi * math.cos(psi)) / (2 * math.pi) + activation.A2 * math.cos(psi)
    np.testing.assert_allclose(found.values, values, rtol=1e-13)
    np.testing.assert_allclose(found.slopes, activation.A2 - psi * step**2 / (2 * math.pi), rtol=1e-13)


def test_quadrant_moments():
    """PDLT (5.158): H, Q and P over the quadrant where both variables are positive."""
    psi = 1.1
    both = lambda p, m: (p > 0) & (m > 0)  # noqa: E731
    found = [quadrant_square(psi), quadrant_squares(psi), quadrant_cube(psi)]
    expected = [
        polar_average(lambda p, m: both(p, m) * p**2, 2, psi),
        polar_average(lambda p, m: both(p, m) * p**2 * m**2, 4, psi),
        polar_average(lambda p, m: both(p, m) * p**3 * m, 4, psi),
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("activation", ACTIVATIONS[:2] + ACTIVATIONS[3:], ids=["relu", "leaky", "general"])
@pytest.mark.parametrize("psi", [1e-9, 1e-6, 1e-3, 0.01, 0.3, 0.499, 0.501, 1.7, 3.0, math.pi - 1e-9])
def test_one_layer_in_extended_precision(activation, psi):
    """PDLT (5.162), to rounding at every angle, where the arccos of the cosine would keep no digit."""
    with mpmath.workdps(60):
        exact_psi, rho = mpmath.mpf(psi), mpmath.mpf((activation.a_plus - activation.a_minus) ** 2)
        rho = rho / (mpmath.pi * mpmath.mpf(activation.a_plus**2 + activation.a_minus**2))
        cosine = mpmath.cos(exact_psi) + rho * (mpmath.sin(exact_psi) - exact_psi * mpmath.cos(exact_psi))
        expected = float(mpmath.acos(cosine))
    np.testing.assert_allclose(angle_flow(activation, psi, 2).psi[1], expected, rtol=4e-15)


@pytest.mark.parametrize("activation", ACTIVATIONS[:3], ids=["relu", "leaky", "abs"])
def test_late_layers(activation):
    r"""PDLT (5.166)-(5.168): $\psi \to 3/\rho\ell$, $K_{[2]} \to 9K_d/4\rho^2\ell^2$, and $1/\psi = \frac\rho3\ell+\frac\rho2\log\ell$."""
    rho, depth = corner_strength(activation), 300_000
    flow = angle_flow(activation, 1.0, depth, K_d=2.0)
    psi = np.asarray(flow.psi)
    np.testing.assert_allclose(psi[-1] * depth * rho / 3, 1, rtol=2e-4)
    np.testing.assert_allclose(flow.K_2[-1] * depth**2, 2.0 * 9 / (4 * rho**2), rtol=4e-4)
    np.testing.assert_allclose(flow.K_0[-1] + flow.K_2[-1], 2.0, rtol=1e-14)
    layers = np.array([3_000, depth])
    rest = 1 / psi[layers - 1] - rho / 3 * layers
    np.testing.assert_allclose((rest[1] - rest[0]) / math.log(layers[1] / layers[0]), rho / 2, rtol=1e-3)


def test_crossover():
    r"""PDLT (5.169): ReLU from $\psi = 0.1$ halves its angle at layer 95; $\ell_\times = 94.2$."""
    psi = np.asarray(angle_flow("relu", 0.1, 100).psi)
    assert np.flatnonzero(psi < 0.05)[0] + 1 == 95
    np.testing.assert_allclose(crossover_depth("relu", 0.1), 94.2, atol=0.05)
    flow = angle_flow("relu", 0.1, 1)
    by_kernels = 1.5 * math.pi * math.sqrt(flow.K_0[0] / flow.K_2[0])
    np.testing.assert_allclose(crossover_depth("relu", 0.1), by_kernels, rtol=1e-3)
    assert math.isinf(crossover_depth("linear", 0.1))


def test_non_analytic_step():
    r"""PDLT (5.171): $K_{[2]}' = K_{[2]} - \frac{4\rho}{3\sqrt{K_d}}K_{[2]}^{3/2}$ at small angles."""
    errors = []
    for psi in (4e-3, 2e-3):
        before, after = np.asarray(angle_flow("relu", psi, 2, K_d=3.0).K_2)
        step = -4 / (3 * math.pi * math.sqrt(3.0)) * before**1.5
        errors.append(abs((after - before) / step - 1))
    assert errors[0] < 1e-5
    np.testing.assert_allclose(errors[0] / errors[1], 4, rtol=0.05)  # the next term is two powers of psi away


def test_linear_keeps_angles():
    r"""PDLT (5.162) with $\rho = 0$."""
    np.testing.assert_allclose(
        angle_flow("linear", [0.0, 1e-8, 1.0, math.pi], 50).psi[-1], [0, 1e-8, 1, math.pi], rtol=1e-13
    )


def test_gradient_at_coincidence():
    r"""PDLT (5.162): $d\psi'/d\psi = 1$ at zero angle, where an arccos has an infinite slope."""
    assert jax.grad(lambda psi: next_angle(1 / math.pi, psi))(0.0) == 1.0
    assert np.isfinite(jax.grad(lambda psi: next_angle(2 / math.pi, psi))(math.pi))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("tanh", 0.1, 5), "activation"),
        (("relu", -0.1, 5), "psi"),
        (("relu", 4.0, 5), "psi"),
        (("relu", 0.1, 0), "depth"),
    ],
)
def test_bad_arguments(arguments, named):
    """Each names the argument."""
    with pytest.raises(DomainError) as caught:
        angle_flow(*arguments)
    assert caught.value.argument == named
