"""Activations of straight pieces that vanish at their kinks: critical at every kernel; and activations without any slope."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erfc, erfcinv, gamma

from finitewidth._errors import DomainError
from finitewidth.activations import Activation
from finitewidth.critical import (
    Stability,
    UniversalityClass,
    criticality,
    fixed_points,
    kernel_series,
    perturbed_pair_flow,
    phase_diagram,
    single_input_flow,
    susceptibilities,
)


def shrink(width):
    return Activation(
        lambda z: jnp.sign(z) * jax.nn.relu(jnp.abs(z) - width), (-width, width), name=f"softshrink({width})"
    )


def softshrink_averages(width, K):
    r"""$\langle\sigma'^2\rangle = P(|z| > w)$ and $\langle\sigma^2\rangle = (K+w^2)P - 2wK\,p_K(w)$."""
    P = erfc(width / np.sqrt(2 * K))
    density = np.exp(-(width**2) / (2 * K)) / np.sqrt(2 * np.pi * K)
    return P, (K + width**2) * P - 2 * width * K * density


def test_soft_shrinkage():
    """PDLT (5.71)-(5.73): C_b > 0 at unit kernel, both susceptibilities one there, and said to be one of many."""
    found = criticality(shrink(0.5))
    point = found.point
    s, g = softshrink_averages(0.5, 1.0)
    np.testing.assert_allclose([point.K_star, point.C_W, point.C_b], [1, 1 / s, 1 - g / s], rtol=1e-13)
    np.testing.assert_allclose([point.C_W, point.C_b], [1.620548, 0.320539], atol=5e-7)
    assert found.universality_class is UniversalityClass.HALF_STABLE
    assert point.stability is Stability.FROM_BELOW
    assert "at every kernel" in found.reason
    assert "K* = 1 is taken" in found.reason
    at = susceptibilities(shrink(0.5), 1.0, point.C_W)
    np.testing.assert_allclose([at.chi_parallel, at.chi_perp], 1, rtol=1e-12)


@pytest.mark.parametrize("K", [0.05, 0.7, 30.0])
def test_every_point_of_the_line_is_critical(K):
    """PDLT (5.55)-(5.56): with the hyperparameters that belong to it, each kernel is a double root."""
    s, g = softshrink_averages(0.5, K)
    C_b, C_W = K - g / s, 1 / s
    (point,) = fixed_points(shrink(0.5), C_b, C_W)
    np.testing.assert_allclose(point.K_star, K, rtol=1e-5)  # a double root: half the digits
    np.testing.assert_allclose([point.chi_parallel, point.chi_perp], 1, rtol=1e-5)
    assert point.stability is Stability.FROM_BELOW
    diagram = phase_diagram(shrink(0.5), [C_b], [C_W], K / 2)
    assert diagram.phase.item() == "critical"
    line = diagram.perp_line
    np.testing.assert_allclose(np.interp(np.log(K), np.log(line.K), np.log(line.C_W)), np.log(C_W), atol=1e-3)


def test_the_kernel_arrives_from_below():
    r"""PDLT (5.102)-(5.103): $K^\star - K \to 1/(\tilde a_1\ell)$ on the side that attracts."""
    point = criticality(shrink(0.5)).point
    flow = single_input_flow(shrink(0.5), 0.9, 4000, point.C_b, point.C_W)
    gap = point.K_star - np.asarray(flow.K)[[1999, 3999]]
    np.testing.assert_allclose(1 / np.diff(1 / gap) * 2000, 1 / point.a1_tilde, rtol=5e-3)


TENTH = np.sqrt(2) * erfcinv(0.1)  # the width at which a tenth of a unit Gaussian passes


@pytest.mark.parametrize("width", [0.97 * TENTH, 1.03 * TENTH, 20.0])
def test_which_kernel_is_taken(width):
    """Unit kernel, unless less than a tenth of the inputs would pass: then the kernel at which a tenth does."""
    found = criticality(shrink(width))
    taken = max(1.0, float(width / TENTH) ** 2)
    np.testing.assert_allclose(found.point.K_star, taken, rtol=0.04)  # the table has steps of 3.7 %
    assert ("unit variance" in found.reason) is (taken == 1.0)
    assert ("a tenth of the largest" in found.reason) is (taken > 1.0)
    assert found.point.C_b > 0


def test_no_line_where_the_bias_would_be_negative():
    """PDLT (5.72): a ReLU shifted to the other side is critical at every kernel too, but only with C_b < 0."""
    found = criticality(lambda z: jax.nn.relu(z + 1))
    assert not found.tunable
    assert "for every kernel, but C_b < 0 would be needed" in found.reason


@pytest.mark.parametrize(("height", "line"), [(0.0, True), (1e-11, True), (1e-7, False)])
def test_a_line_to_nine_digits(height, line):
    r"""PDLT (5.73): $\sigma = \epsilon$ at the kink makes $\mathcal R - 1$ of order $\epsilon$: nine digits count."""
    found = criticality(lambda z: jax.nn.relu(z - 1) + height)
    assert ("at every kernel" in found.reason) is line
    assert found.tunable is line


def test_saturation_far_out():
    """PDLT (5.73): a shifted ReLU6 is critical to nine digits as long as kernels do not reach its other kink."""
    found = criticality(lambda z: jnp.clip(z - 1, 0, 6))
    assert "at every kernel from 0.0023 to 1.1" in found.reason
    below, above = (susceptibilities(lambda z: jnp.clip(z - 1, 0, 6), K).ratio for K in (1.0, 1.4))
    assert abs(float(below) - 1) < 2e-9 < abs(float(above) - 1)


@pytest.mark.parametrize("value", [0.0, 2.0, 1e-12])
def test_constants(value):
    """PDLT (5.51): no slope at all, and said so."""
    found = criticality(lambda z: 0 * z + value)
    assert (found.universality_class, found.tunable) == (UniversalityClass.NONE, False)
    assert "the activation is constant" in found.reason
    assert "C_b" not in found.reason
    assert "constant" not in criticality(lambda z: value + 1e-3 * jnp.tanh(z)).reason


def test_flat_as_far_as_kernels_reach():
    """PDLT (5.51): flat up to a thousand deviations of the largest kernel searched."""
    assert "constant as far as kernels up to 1e+06 reach" in criticality(lambda z: jax.nn.relu(z - 1e5)).reason


def root(power):
    return Activation(lambda z: jnp.sign(z) * jnp.abs(z) ** power, name=f"|z|^{power}")


@pytest.mark.parametrize(("power", "finite"), [(0.05, False), (0.5, False), (0.7, True), (0.75, True)])
def test_infinite_slopes(power, finite):
    r"""PDLT (5.51), (5.78): $\langle\sigma'^2\rangle$ of a continuous power is finite above one half, $\mathcal R = p/(2p-1)$."""
    found = criticality(root(power))
    assert "jumps" not in found.reason
    assert ("chi_perp is infinite for every kernel" in found.reason) is not finite
    if finite:
        ratio = f"{power / (2 * power - 1):.4g}"
        assert f"it lies between {ratio} and {ratio}" in found.reason
        assert "at K = 0 the slope is infinite" in found.reason
        assert fixed_points(root(power), 0.0, 1.0)[0].stability is Stability.UNSTABLE
    else:
        with pytest.raises(DomainError, match="so steep at z = 0"):
            fixed_points(root(power), 0.1, 1.0)
        with pytest.raises(DomainError, match="so steep at z = 0"):
            perturbed_pair_flow(root(power), 1.0, 0.0, 0.1, 3, 0.1, 1.0)
    with pytest.raises(DomainError, match="infinite derivative at zero"):
        kernel_series(root(power))


def test_almost_infinite_slopes():
    r"""PDLT (5.51): between one half and about 0.65 $\langle\sigma'^2\rangle$ is finite, but sits where no rule finds it."""
    with pytest.raises(DomainError, match="almost as steep as a square root"):
        criticality(root(0.55))


@pytest.mark.parametrize(("size", "kind"), [(1e-10, "K*=0"), (1.0, "K*=0"), (1e10, "K*=0")])
def test_size_does_not_matter(size, kind):
    r"""PDLT (5.90): $c\,\sigma$ is critical at $C_W/c^2$, and everything else stays as it is."""
    found, reference = criticality(lambda z: size * jax.nn.elu(z)), criticality(jax.nn.elu)
    assert found.universality_class == kind
    assert found.reason == reference.reason
    np.testing.assert_allclose(found.point.C_W * size**2, 1, rtol=1e-12)
    line = criticality(lambda z: size * jax.nn.relu(z - 1)).point
    np.testing.assert_allclose([line.K_star, line.C_W * size**2], [1, 6.302974375], rtol=1e-9)


def test_powers_measured_at_zero():
    r"""PDLT (5.92)-(5.96) without a Taylor series: $z - \frac1{10}z\sqrt{|z|}$ has $K' = K - \frac15E|z|^{5/2}K^{5/4} + \ldots$"""
    found = criticality(lambda z: z - 0.1 * z * jnp.sqrt(jnp.abs(z)))
    moment = 2**1.25 * gamma(1.75) / np.sqrt(np.pi)  # E|z|^(5/2)
    assert found.universality_class is UniversalityClass.ZERO
    np.testing.assert_allclose([found.point.order, found.point.C_W], [1.25, 1], rtol=1e-4)
    np.testing.assert_allclose(found.point.a1_tilde, -0.2 * moment, rtol=1e-2)
    assert found.a1 is None
