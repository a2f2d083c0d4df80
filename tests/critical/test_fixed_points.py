"""Fixed points: numbers known independently, double roots, and the errata of footnotes 20 and 21."""

import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth._errors import DomainError, ValidityWarning
from finitewidth.activations import ACTIVATIONS, Activation
from finitewidth.critical import Stability, fixed_points, single_input_flow


def test_tanh():
    """PDLT (5.7)-(5.11): generic fixed points."""
    (point,) = fixed_points("tanh", 0.05, 1.5)
    np.testing.assert_allclose(point.K_star, 0.418037, atol=5e-7)
    np.testing.assert_allclose([point.chi_parallel, point.chi_perp], [0.551983, 0.938636], atol=5e-7)
    assert point.stability is Stability.STABLE
    zero, point = fixed_points("tanh", 0.0, 2.0)
    assert (zero.K_star, zero.chi_parallel, zero.stability) == (0.0, 2.0, Stability.UNSTABLE)
    measured = [point.K_star, point.chi_parallel, point.chi_perp]
    np.testing.assert_allclose(measured, [0.617965, 0.552516, 1.105529], atol=5e-7)


def test_sine_satisfies_its_equation():
    r"""PDLT (5.7): $K = C_b + C_W(1-e^{-2K})/2$ to rounding."""
    for C_b, C_W in [(0.0, 3.0), (0.2, 0.7), (1e-13, 0.5), (7.0, 40.0)]:
        point = fixed_points("sin", C_b, C_W)[-1]
        np.testing.assert_allclose(point.K_star, C_b - C_W * np.expm1(-2 * point.K_star) / 2, rtol=1e-13)
        np.testing.assert_allclose(point.chi_parallel, C_W * np.exp(-2 * point.K_star), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "trivial", "chi_parallel", "chi_perp", "printed", "relaxation"),
    [("swish", 14.59310499, 0.99999924, 1.000462, 14.5, 1.3e6), ("gelu", 3.03498144, 0.9999056, 0.993978, 3.2, 1.06e4)],
)
def test_errata_of_footnotes_20_and_21(verdict, name, trivial, chi_parallel, chi_perp, printed, relaxation):
    """PDLT (5.101), (5.105) and footnotes 20, 21: the other fixed point is at 14.593 (printed 14.5) and 3.035 (3.2)."""
    critical = verdict(name).point
    points = {p.stability: p for p in fixed_points(name, critical.C_b, critical.C_W)}
    assert set(points) == {Stability.STABLE, critical.stability}
    np.testing.assert_allclose(points[critical.stability].K_star, critical.K_star, rtol=1e-10)
    other = points[Stability.STABLE]
    np.testing.assert_allclose(other.K_star, trivial, atol=6e-9)
    np.testing.assert_allclose([other.chi_parallel, other.chi_perp], [chi_parallel, chi_perp], atol=6e-7)
    np.testing.assert_allclose(-1 / np.log(other.chi_parallel), relaxation, rtol=2e-2)
    assert abs(other.K_star - printed) > 0.09


def test_next_order_at_the_half_stable_points(verdict):
    r"""PDLT (5.102): $C_Wg'''/6$ and $\chi_\perp'(K^\star)$ of SWISH and GELU."""
    from finitewidth.critical.one_input.averages import single_input
    from finitewidth.gaussian.derivatives import differentiate

    for name, cubic, perp in [("swish", -1.071e-5, 1.7330e-3), ("gelu", -2.158e-4, 9.3335e-3)]:
        point = verdict(name).point
        sigma = ACTIVATIONS[name]
        K = jnp.asarray(point.K_star)
        third = differentiate(lambda k, s=sigma: single_input(s, k).ddg)(K)
        np.testing.assert_allclose(point.C_W * third / 6, cubic, rtol=1e-3)
        np.testing.assert_allclose(point.C_W * single_input(sigma, K).ds, perp, rtol=5e-5)


def test_beside_the_double_root(verdict):
    """PDLT (5.102): a little more or less bias makes the double root of GELU two roots, or none."""
    critical = verdict("gelu").point
    more = fixed_points("gelu", critical.C_b + 1e-7, critical.C_W)
    less = fixed_points("gelu", critical.C_b - 1e-7, critical.C_W)
    assert [p.stability for p in more] == [Stability.STABLE, Stability.UNSTABLE, Stability.STABLE]
    assert [p.stability for p in less] == [Stability.STABLE]
    # F = 1e-7 + a1 dK^2 with a1 = -1.436e-4: roots at a distance of 0.0264
    np.testing.assert_allclose([p.K_star - critical.K_star for p in more[1:]], [-0.0264, 0.0264], rtol=0.05)


def test_scale_invariant():
    r"""PDLT (5.67)-(5.68): all kernels, none, or $K = C_b/(1-A_2C_W)$."""
    (every,) = fixed_points("relu", 0.0, 2.0)
    assert (every.K_star, every.stability) == (None, Stability.NEUTRAL)
    assert fixed_points("relu", 0.1, 2.0) == ()
    np.testing.assert_allclose(fixed_points("relu", 0.1, 1.9)[0].K_star, 2.0, rtol=1e-13)
    (zero,) = fixed_points("relu", 0.0, 1.9)
    assert (zero.K_star, zero.stability) == (0.0, Stability.STABLE)


@pytest.mark.parametrize(
    ("activation", "C_W", "stability"),
    [
        ("tanh", 1.0, Stability.STABLE),
        ("softsign", 1.0, Stability.STABLE),
        ("centered_softplus", 4.0, Stability.UNSTABLE),
        (Activation(lambda z: jnp.clip(z, -1, 1), (-1.0, 1.0), name="hard"), 1.0, Stability.STABLE),
    ],
)
def test_zero_at_criticality(activation, C_W, stability):
    """PDLT (5.89)-(5.92): the next order decides."""
    zero = fixed_points(activation, 0.0, C_W)[0]
    assert (zero.K_star, zero.stability) == (0.0, stability)


def test_bistable():
    """PDLT (5.7): an activation flat at zero keeps two stable kernels, with an unstable one between them."""

    def flat(z):
        return jnp.tanh(z) ** 3

    points = fixed_points(flat, 0.01, 20.0)
    assert [p.stability for p in points] == [Stability.STABLE, Stability.UNSTABLE, Stability.STABLE]
    for start, end in [(points[1].K_star * 0.98, points[0].K_star), (points[1].K_star * 1.02, points[2].K_star)]:
        flow = single_input_flow(flat, start, 300, 0.01, 20.0)
        np.testing.assert_allclose(flow.K[-1], end, rtol=1e-9)


def test_says_where_it_did_not_look():
    """PDLT (5.7): fixed points beyond the reach of quadrature are announced, not denied."""
    with pytest.warns(ValidityWarning, match="were not searched"):
        fixed_points(lambda z: jnp.sin(30 * z), 0.0, 1e5)
    assert fixed_points(lambda z: jnp.sin(30 * z), 0.0, 1000.0)[-1].K_star == pytest.approx(500, rel=1e-12)


def test_no_weights():
    """PDLT (5.7) with C_W = 0: the bias alone."""
    (point,) = fixed_points("sigmoid", 0.3, 0.0)
    assert (point.K_star, point.chi_perp) == (pytest.approx(0.3, rel=1e-14), 0.0)
    (point,) = fixed_points("sigmoid", 0.0, 0.0)
    assert (point.K_star, point.stability) == (0.0, Stability.STABLE)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(("tanh", -0.1, 1.0), "C_b"), (("tanh", 0.1, np.nan), "C_W"), (("perceptron", 0.1, 1.0), "activation")],
)
def test_bad_arguments(arguments, named):
    """Each names the argument."""
    with pytest.raises(DomainError) as caught:
        fixed_points(*arguments)
    assert caught.value.argument == named
