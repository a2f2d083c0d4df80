"""The table of activations row by row, numbers to the last printed digit, and activations nobody has seen."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import erf

from finitewidth._errors import DomainError, UnknownNameError
from finitewidth.activations import Activation, exponential, leaky_relu, monomial, scale_invariant
from finitewidth.critical import Stability, UniversalityClass, criticality
from finitewidth.critical.two_inputs.finite_angle import corner_strength

SCALED_ERF = Activation(lambda z: erf(z / math.sqrt(2)), name="scaled erf")
SCALE_INVARIANT = [
    (scale_invariant(3.0, 3.0), 1 / 9, 2.0, 0.0),
    (scale_invariant(1.0, 0.0), 2.0, 5.0, 1 / math.pi),
    (leaky_relu(0.1), 2 / 1.01, 4.88236, 0.255278),
    (scale_invariant(1.0, -1.0), 1.0, 2.0, 2 / math.pi),
]


@pytest.mark.parametrize(("activation", "C_W", "nu", "rho"), SCALE_INVARIANT, ids=["linear", "relu", "leaky", "abs"])
def test_scale_invariant(activation, C_W, nu, rho):
    r"""PDLT (5.67), (5.120), (5.163): $(0, 1/A_2)$ at any kernel; exponents, $\nu$ and $\rho$ of the table."""
    found = criticality(activation)
    assert found.universality_class is UniversalityClass.SCALE_INVARIANT
    (point,) = found.critical_points
    assert (point.C_b, point.K_star, point.stability) == (0.0, None, Stability.NEUTRAL)
    np.testing.assert_allclose(point.C_W, C_W, rtol=1e-14)
    exponents = found.exponents
    np.testing.assert_allclose(exponents.nu, nu, atol=5e-6)
    np.testing.assert_allclose(corner_strength(activation), rho, atol=5e-7)
    corner = float(rho > 0)
    assert (exponents.p_0, exponents.p_parallel, exponents.p_perp) == (0, 0, 2 * corner)
    assert (exponents.p_psi, exponents.p_V, exponents.p_1) == (corner, -1, None)


def test_scale_invariance_is_found_not_declared():
    """PDLT (5.64): a user's piecewise linear function is recognised."""
    found = criticality(Activation(lambda z: jnp.maximum(z, 0.2 * z), (0.0,), name="mine"))
    assert found.universality_class is UniversalityClass.SCALE_INVARIANT
    np.testing.assert_allclose(found.point.C_W, 2 / 1.04, rtol=1e-12)


ZERO = [
    ("tanh", 1.0, (-2, 17 / 3, -2)),
    ("sin", 1.0, (-1, 2 / 3, -1)),
    ("erf", math.pi / 4, (-2, 14 / 3, -2)),
    (SCALED_ERF, math.pi / 2, (-1, 7 / 6, -1)),
    ("centered_sigmoid", 16.0, (-1 / 2, 17 / 48, -1 / 2)),
]


@pytest.mark.parametrize(("activation", "C_W", "coefficients"), ZERO, ids=[getattr(r[0], "name", r[0]) for r in ZERO])
def test_zero_class(verdict, activation, C_W, coefficients):
    r"""PDLT (5.86)-(5.90), (5.131): $(0, 1/\sigma_1^2)$ at $K^\star = 0$, exponents and $\nu = \frac23$."""
    found = verdict(activation)
    assert found.universality_class is UniversalityClass.ZERO
    (point,) = found.critical_points
    assert (point.C_b, point.K_star, point.stability, point.order) == (0.0, 0.0, Stability.STABLE, 2.0)
    np.testing.assert_allclose([point.C_W, point.a1_tilde], [C_W, coefficients[0]], rtol=1e-13)
    np.testing.assert_allclose([found.a1, found.a2, found.b1], coefficients, rtol=1e-13)
    e = found.exponents
    measured = [e.p_0, e.p_parallel, e.p_perp, e.p_psi, e.p_V, e.p_1, e.nu]
    np.testing.assert_allclose(measured, [1, 2, 1, 0, 1, 0, 2 / 3], rtol=1e-13, atol=1e-13)


HALF_STABLE = {
    "swish": {
        "K_star": 14.320173618026,
        "C_b": 0.55514317072153,
        "C_W": 1.9880046782695,
        "a1_tilde": 2.84979219e-6,
        "stability": Stability.FROM_BELOW,
        "nu": 4.923187,
        "p_perp": 608.0,
    },
    "gelu": {
        "K_star": (3 + math.sqrt(17)) / 2,
        "C_b": 0.172922390756067,
        "C_W": 1.98305825743755,
        "a1_tilde": -1.43626418732e-4,
        "stability": Stability.FROM_ABOVE,
        "nu": 4.904226,
        "p_perp": -65.0,
    },
}


@pytest.mark.parametrize("name", HALF_STABLE)
def test_half_stable(verdict, name):
    """PDLT (5.100)-(5.106): the points at finite kernel of SWISH and GELU, to every printed digit."""
    found, expected = verdict(name), HALF_STABLE[name]
    assert found.universality_class is UniversalityClass.HALF_STABLE
    zero, point = found.critical_points
    assert (zero.K_star, zero.C_b, zero.C_W, zero.stability) == (0.0, 0.0, 4.0, Stability.UNSTABLE)
    assert found.point is point
    assert point.stability is expected["stability"]
    np.testing.assert_allclose(point.K_star, expected["K_star"], rtol=5e-14)
    np.testing.assert_allclose(point.C_b, expected["C_b"], rtol=2e-14)
    np.testing.assert_allclose(point.C_W, expected["C_W"], rtol=2e-14)
    np.testing.assert_allclose(point.a1_tilde, expected["a1_tilde"], rtol=2e-9)
    np.testing.assert_allclose(found.exponents.nu, expected["nu"], atol=5e-7)
    np.testing.assert_allclose(found.exponents.p_perp, expected["p_perp"], rtol=5e-4)
    assert (found.exponents.p_0, found.exponents.p_parallel, found.exponents.p_V) == (0, 2, -1)


@pytest.mark.parametrize(
    ("name", "C_W", "coefficients"),
    [("centered_softplus", 4.0, (3 / 16, -5 / 64, 1 / 4)), ("expm1", 1.0, (7 / 4, 31 / 24, 2.0))],
)
def test_unstable_at_zero(verdict, name, C_W, coefficients):
    r"""PDLT (5.89): $a_1 > 0$ repels; the only critical point is of no use."""
    found = verdict(name)
    assert found.universality_class is UniversalityClass.UNSTABLE_AT_ZERO
    (point,) = found.critical_points
    assert (point.C_b, point.C_W, point.stability) == (0.0, C_W, Stability.UNSTABLE)
    np.testing.assert_allclose([found.a1, found.a2, found.b1], coefficients, rtol=1e-13)
    assert (found.tunable, found.point, found.exponents) == (False, None, None)
    assert "repels" in found.reason


@pytest.mark.parametrize(
    ("activation", "reason"),
    [
        ("sigmoid", "would need C_b = -4 < 0"),
        ("softplus", "between 0.5906 and 0.999"),
        (monomial(2), "between 0.6667 and 0.6667"),
        ("perceptron", "chi_perp is infinite"),
        (exponential(), "between 0.5 and 0.5"),
        (lambda z: z + 1, "would need C_b = -1 < 0; chi_perp = chi_parallel for every kernel"),
        (lambda z: jnp.exp(-(z**2)), "slope vanishes"),
    ],
)
def test_not_tunable(activation, reason):
    """PDLT (5.74)-(5.78), (5.81): no criticality, and the reason in words."""
    found = criticality(activation)
    assert found.universality_class is UniversalityClass.NONE
    assert (found.critical_points, found.tunable) == ((), False)
    assert reason in found.reason
    assert "not tunable" in str(found)
    assert found.reason in str(found)


def test_ratio_tending_to_one_is_not_a_root(verdict):
    """PDLT (5.73): softplus from below, SWISH and GELU from above approach 1 at large kernels without touching it."""
    assert verdict("softplus").critical_points == ()
    assert len(verdict("swish").critical_points) == len(verdict("gelu").critical_points) == 2
    assert verdict("gelu").searched == pytest.approx((1e-8, 1e6))


def kinked(function, kinks, name):
    return Activation(function, kinks, name=name)


@pytest.mark.parametrize(
    ("activation", "C_W", "order", "exponents"),
    [
        ("softsign", 1.0, 1.5, (2, 3, 2, 0, 3, 1, 2 / 3)),
        (kinked(lambda z: jnp.clip(z, -1, 1), (-1.0, 1.0), "hard_tanh"), 1.0, math.inf, (0, 1, 0, 0, -1, -1, 2 / 3)),
        (kinked(jax.nn.relu6, (0.0, 6.0), "relu6"), 2.0, math.inf, (0, 1, 2, 1, -1, -1, 5 / 3)),
        pytest.param(  # ten derivatives at zero
            lambda z: jnp.sin(z) + z**3 / 6 - z**5 / 120,
            1.0,
            4.0,
            (1 / 3, 4 / 3, 1 / 3, 0, -1 / 3, -2 / 3, 2 / 3),
            marks=pytest.mark.measured,
        ),
        (
            lambda z: z + z**2 / 2 - z**3 / 8 - z**5 / 50,
            1.0,
            3.0,
            (1 / 2, 3 / 2, -math.inf, -math.inf, 0, -1 / 2, 2 / 3),
        ),
    ],
)
def test_other_powers_at_zero(activation, C_W, order, exponents):
    """PDLT (5.92)-(5.99) where the kernel falls otherwise than as 1/l: kinks at zero, clipping, fine tuning."""
    found = criticality(activation)
    assert found.universality_class is UniversalityClass.ZERO
    assert found.point.stability is Stability.STABLE
    np.testing.assert_allclose([found.point.C_W, found.point.order], [C_W, order], rtol=1e-11)
    e = found.exponents
    measured = [e.p_0, e.p_parallel, e.p_perp, e.p_psi, e.p_V, e.p_1, e.nu]
    np.testing.assert_allclose(measured, exponents, rtol=1e-9, atol=1e-9)


def test_a_callable_nobody_has_seen(verdict):
    r"""PDLT (5.71)-(5.73) for $z\,e^{-z^2}$ and for a half-stable function: SWISH at half its scale, $\frac12s(2z)$, which moves
    $K^\star$ and $C_b$ to a quarter."""
    found = criticality(lambda z: z * jnp.exp(-(z**2)))
    assert found.universality_class is UniversalityClass.ZERO
    np.testing.assert_allclose([found.a1, found.a2, found.b1], [-6, 30, -6], rtol=1e-12)
    found = criticality(lambda z: z * (1 + jnp.tanh(z)) / 2)
    point, swish = found.point, verdict("swish").point
    assert found.universality_class is UniversalityClass.HALF_STABLE
    np.testing.assert_allclose(
        [4 * point.K_star, 4 * point.C_b, point.C_W], [swish.K_star, swish.C_b, swish.C_W], rtol=1e-9
    )


def test_the_point_satisfies_the_definition(verdict, average):
    r"""PDLT (5.55)-(5.56): at the SWISH point both susceptibilities are 1 and $K^\star = C_b + C_Wg$, independently."""
    point = verdict("swish").point
    K = point.K_star

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    def slope(z):
        return sigmoid(z) * (1 + z * sigmoid(-z))

    perp = point.C_W * average(lambda z: slope(z) ** 2, K)
    parallel = point.C_W * average(lambda z: z**2 * sigmoid(z) * slope(z), K) / K
    kernel = point.C_b + point.C_W * average(lambda z: (z * sigmoid(z)) ** 2, K)
    np.testing.assert_allclose([perp, parallel, kernel / K], 1, rtol=1e-13)


def test_reads_well(verdict):
    """What a person sees."""
    text = str(verdict("gelu"))
    assert text.startswith("gelu: half-stable (tunable)")
    assert "(C_b, C_W) = (0.1729223908, 1.983058257), K* = 3.561552813, attracts from above only" in text
    assert "exponents, up to 65, are not listed: they hold after about 1955 layers only" in text  # 1/(a1 K*)
    assert "p_perp" not in text
    assert "p_perp = 1" in str(verdict("tanh"))


@pytest.mark.parametrize("function", [jax.nn.relu, jax.nn.elu])
def test_undeclared_kinks_are_found(function):
    """Quadrature that misses a kink would classify wrongly: a plain callable is as good as one with its kinks declared."""
    plain, declared = criticality(function), criticality(Activation(function, (0.0,), name="declared"))
    assert plain.universality_class is declared.universality_class
    assert plain.critical_points == declared.critical_points


def test_what_cannot_be_resolved_is_refused():
    """An activation that bends on a scale far below one."""
    with pytest.raises(DomainError, match="kinks"):
        criticality(lambda z: jnp.tanh(1e6 * z))


def test_unknown_name():
    """The nearest name is suggested."""
    with pytest.raises(UnknownNameError, match="tanh"):
        criticality("tahn")
