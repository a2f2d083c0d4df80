"""Two dozen activations of all kinds: kinked, jumping, steep, fast-growing, with class and critical points against mpmath."""

import itertools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

from finitewidth.activations import as_activation
from finitewidth.critical import UniversalityClass, criticality
from finitewidth.critical.one_input.sampled_averages import sampled_averages
from references import REFERENCES, SELU_ALPHA, SELU_SCALE

SCALE, ZERO, HALF = UniversalityClass.SCALE_INVARIANT, UniversalityClass.ZERO, UniversalityClass.HALF_STABLE
UNSTABLE, NONE = UniversalityClass.UNSTABLE_AT_ZERO, UniversalityClass.NONE


@dataclass(frozen=True)
class Case:
    """The activation for JAX, then for mpmath: its value and slope, and where these must not be integrated across."""

    function: Any
    value: Any
    slope: Any
    points: tuple[float, ...]
    kind: UniversalityClass
    C_W_at_zero: float | None = None
    finite: int = 0  # critical points at finite kernels
    unit: float = 1.0  # what mpmath's value is multiplied with


def _between(z, low, high):
    return 1 if low < z < high else 0


def _stairs(z):
    return mp.mpf(min(max(mp.floor(2 * z), -2), 2))


def _derived(name):
    """A smooth function of the references with its slope by mpmath's own differentiation."""
    return REFERENCES[name], lambda z: mp.diff(REFERENCES[name], z)


ZOO = {
    "mish": Case("mish", *_derived("mish"), (0,), HALF, 1 / 0.36, 1),
    "gelu_tanh": Case("gelu_tanh", *_derived("gelu_tanh"), (0,), HALF, 4.0, 1),
    "hardtanh": Case("hardtanh", lambda z: min(max(z, -1), 1), lambda z: _between(z, -1, 1), (-1, 1), ZERO, 1.0),
    "relu6": Case("relu6", lambda z: min(max(z, 0), 6), lambda z: _between(z, 0, 6), (0, 6), ZERO, 2.0),
    "hardswish": Case(
        "hardswish",
        lambda z: z * min(max(z + 3, 0), 6) / 6,
        lambda z: 0 if z < -3 else 1 if z > 3 else (2 * z + 3) / 6,
        (-3, 3),
        HALF,
        4.0,
        1,
    ),
    "softshrink": Case(
        "softshrink",
        lambda z: mp.sign(z) * max(abs(z) - 0.5, 0),
        lambda z: 1 - _between(z, -0.5, 0.5),
        (-0.5, 0.5),
        HALF,
        finite=1,
    ),
    "shifted relu": Case(
        lambda z: jax.nn.relu(z - 1), lambda z: max(z - 1, 0), lambda z: 1 if z > 1 else 0, (1,), HALF, finite=1
    ),
    "two dead zones": Case(
        lambda z: jax.nn.relu(z - 1) - 0.3 * jax.nn.relu(-z - 0.4),
        lambda z: max(z - 1, 0) - 0.3 * max(-z - 0.4, 0),
        lambda z: 1 if z > 1 else 0.3 if z < -0.4 else 0,
        (-0.4, 1),
        HALF,
        finite=1,
    ),
    "raised relu": Case(
        lambda z: jax.nn.relu(z + 1), lambda z: max(z + 1, 0), lambda z: 1 if z > -1 else 0, (-1,), NONE
    ),
    "abs": Case(jnp.abs, abs, mp.sign, (0,), SCALE, 1.0),
    "z|z|": Case(lambda z: z * jnp.abs(z), lambda z: z * abs(z), lambda z: 2 * abs(z), (0,), NONE),
    "relu2": Case("relu2", lambda z: max(z, 0) ** 2, lambda z: 2 * max(z, 0), (0,), NONE),
    "elu": Case("elu", lambda z: z if z > 0 else mp.expm1(z), lambda z: 1 if z > 0 else mp.exp(z), (0,), ZERO, 1.0),
    "selu": Case(
        "selu",
        lambda z: SELU_SCALE * (z if z > 0 else SELU_ALPHA * mp.expm1(z)),
        lambda z: SELU_SCALE * (1 if z > 0 else SELU_ALPHA * mp.exp(z)),
        (0,),
        ZERO,
        2 / (SELU_SCALE**2 * (1 + SELU_ALPHA**2)),
    ),
    "tanh(20z)": Case(
        lambda z: jnp.tanh(20 * z),
        lambda z: mp.tanh(20 * z),
        lambda z: 20 * mp.sech(20 * z) ** 2,
        (-0.3, 0, 0.3),
        ZERO,
        1 / 400,
    ),
    "tiny tanh": Case(
        lambda z: 1e-10 * jnp.tanh(z),
        mp.tanh,
        lambda z: mp.sech(z) ** 2,
        (0,),
        ZERO,
        1e20,
        unit=1e-10,
    ),
    "z^2 exp(-z^2)": Case(
        lambda z: z**2 * jnp.exp(-(z**2)),
        lambda z: z**2 * mp.exp(-(z**2)),
        lambda z: (2 * z - 2 * z**3) * mp.exp(-(z**2)),
        (0,),
        HALF,
        finite=1,
    ),
    "1 - cos": Case(lambda z: 1 - jnp.cos(z), lambda z: 1 - mp.cos(z), mp.sin, (0,), HALF, finite=1),
    "z log|z|": Case(
        lambda z: z * jnp.log(jnp.abs(jnp.where(z == 0, 1.0, z))),
        lambda z: z * mp.log(abs(z)) if z else mp.mpf(0),
        lambda z: mp.log(abs(z)) + 1 if z else mp.mpf(0),
        (0,),
        HALF,
        finite=1,
    ),
    "|z|^(3/2)": Case(
        lambda z: jnp.abs(z) ** 1.5,
        lambda z: abs(z) ** mp.mpf(1.5),
        lambda z: 1.5 * mp.sign(z) * mp.sqrt(abs(z)),
        (0,),
        NONE,
    ),
    "sinh": Case(jnp.sinh, mp.sinh, mp.cosh, (0,), UNSTABLE, 1.0),
    "z + z^3": Case(lambda z: z + z**3, lambda z: z + z**3, lambda z: 1 + 3 * z**2, (0,), UNSTABLE, 1.0),
    "sign": Case(jnp.sign, mp.sign, None, (0,), NONE),
    "step at 0.7": Case(lambda z: jnp.where(z > 0.7, 1.0, 0.0), lambda z: 1 if z > 0.7 else 0, None, (0.7,), NONE),
    "hardshrink": Case(
        lambda z: jnp.where(jnp.abs(z) > 0.5, z, 0.0),
        lambda z: 0 if abs(z) < 0.5 else z,
        None,
        (-0.5, 0.5),
        NONE,
    ),
    "stairs": Case(lambda z: jnp.clip(jnp.floor(2 * z), -2, 2), _stairs, None, (-1, -0.5, 0, 0.5, 1), NONE),
    "signed root": Case(
        lambda z: jnp.sign(z) * jnp.sqrt(jnp.abs(z)), lambda z: mp.sign(z) * mp.sqrt(abs(z)), None, (0,), NONE
    ),
}


def averages(case, K):
    r"""$g$, $g'$ in the form $\frac1{2K^2}\langle\sigma^2(z^2-K)\rangle$ and $\langle\sigma'^2\rangle$, by mpmath."""
    K = mp.mpf(K)
    end = 14 * mp.sqrt(K) + 12 * K  # a sinh pushes the weight out
    of_gaussian = [sign * x * float(K) ** 0.5 for sign in (-1, 1) for x in (1, 4)]
    limits = [-end, *(mp.mpf(p) for p in sorted({*case.points, 0.0, *of_gaussian}) if abs(p) < end), end]

    def mean(f):
        return case.unit**2 * mp.quad(lambda z: f(z) * mp.npdf(z, 0, mp.sqrt(K)), limits)

    g = mean(lambda z: case.value(z) ** 2)
    dg = mean(lambda z: case.value(z) ** 2 * (z**2 - K)) / (2 * K**2)
    return g, dg, mean(lambda z: case.slope(z) ** 2) if case.slope else mp.inf


def tiers(names, fast):
    """All of them, those that are not `fast` in the slow tier only."""
    return [name if name in fast else pytest.param(name, marks=pytest.mark.measured) for name in names]


FAST = (
    "mish",
    "hardtanh",
    "hardswish",
    "softshrink",
    "two dead zones",
    "raised relu",
    "tiny tanh",
    "z log|z|",
    "signed root",
    "stairs",
)


@pytest.mark.parametrize("name", tiers(ZOO, FAST))
def test_class(name):
    """PDLT (5.67), (5.71)-(5.73), (5.90): class, number of critical points and, at zero, the slope squared."""
    case = ZOO[name]
    found = criticality(case.function)
    assert found.universality_class is case.kind
    finite = [point for point in found.critical_points if point.K_star]
    at_zero = [point for point in found.critical_points if not point.K_star]
    assert len(finite) == case.finite
    assert found.tunable is (case.kind in (SCALE, ZERO, HALF))
    np.testing.assert_allclose(
        [point.C_W for point in at_zero], [] if case.C_W_at_zero is None else [case.C_W_at_zero], rtol=1e-12
    )
    if "jumps" in found.reason:
        assert case.slope is None
    for point in finite:
        g, dg, s = averages(case, point.K_star)
        C_b, C_W = mp.mpf(point.C_b), mp.mpf(point.C_W)
        assert point.C_b > 0
        np.testing.assert_allclose([float(C_W * dg), float(C_W * s)], 1, rtol=1e-11)
        np.testing.assert_allclose(float(C_b + C_W * g), point.K_star, rtol=1e-11)


@pytest.mark.measured
@pytest.mark.parametrize("name", [name for name, case in ZOO.items() if case.slope])
def test_the_ratio_crosses_one_as_often_as_was_said(name):
    """PDLT (5.73): signs of chi_perp - chi_parallel by mpmath over three decades of kernels; on a line there is none."""
    case = ZOO[name]
    signs = []
    for K in (0.05, 0.3, 2.0, 9.0, 40.0) if name != "sinh" else (0.05, 0.3, 2.0):
        _, dg, s = averages(case, K)
        signs.append(0 if abs(s - dg) < 1e-10 * s else int(mp.sign(s - dg)))
    crossings = sum(a * b < 0 for a, b in itertools.pairwise(signs))
    assert crossings == (case.finite if any(signs) else 0)


@pytest.mark.parametrize("name", tiers(ZOO, ("selu", "hardshrink", "tanh(20z)")))
def test_averages(name):
    """PDLT (5.5), (5.50)-(5.51): the averages behind the verdicts, jumps included, to 1e-12."""
    case = ZOO[name]
    kernels = [0.05, 0.9, 3.0]
    at = sampled_averages(as_activation(case.function), np.array(kernels))
    for i, K in enumerate(kernels):
        g, dg, s = (float(part) for part in averages(case, K))
        np.testing.assert_allclose([at.g[i], at.dg[i]], [g, dg], rtol=1e-12, atol=1e-13 * g)
        if case.slope:
            np.testing.assert_allclose(at.s[i], s, rtol=1e-11)
