"""Late layers at criticality: every quantity as a function of depth, for every universality class."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import DomainError
from ..._result import Result
from ..._validation import as_floats, as_number
from ...activations import Activation, as_activation
from ..classes.classes import Criticality, CriticalPoint, UniversalityClass
from ..classes.classify import criticality
from ..one_input.averages import averages_at
from ..one_input.kinks import has_corner
from ..one_input.single_input import flow_of_one_input
from ..two_inputs.finite_angle import as_scale_invariant
from . import zero_kernel_series as zero
from .half_stable import half_stable

_REFERENCES = (10_000, 20_000)  # layers at which the constants that carry the initial data are read off


class Asymptotics(Result, eqx.Module):
    r"""Predictions for `layers`, for a network at its critical point whose first-layer kernel is $K^{(1)}$.

    `parallel` is $\delta K_{[1]}^{(\ell)}/\delta K_{[1]}^{(1)}$ and `perp` is
    $\delta\delta K_{[2]}^{(\ell)}/\delta\delta K_{[2]}^{(1)}$ for infinitesimal differences in norm and in
    direction. `G1_renormalised` is $G^{\{1\}}$ at `renormalised_C_W`, and `l_0` the depth that carries the memory of
    $K^{(1)}$; `None` where they have no meaning, as `perp` is where it follows no power law of its own.
    """

    universality_class: UniversalityClass = eqx.field(static=True)
    layers: Float[Array, "*l"]
    K: Float[Array, "*l"]
    parallel: Float[Array, "*l"]
    perp: Float[Array, "*l"] | None
    V: Float[Array, "*l"]
    G1: Float[Array, "*l"]
    G1_renormalised: Float[Array, "*l"] | None = None
    l_0: float | None = eqx.field(static=True, default=None)


@entry()
def asymptotics(
    activation: str | Activation | Callable[[Array], Array], layers: Float[Array, "*l"] | Any, K1: float = 1.0
) -> Asymptotics:
    r"""Deep asymptotics at criticality, PDLT (5.92)-(5.99), (5.102)-(5.103), (5.120), (5.127), (5.134), (5.143).

    **Arguments:**

    - `activation`: a name, an `Activation`, or any elementwise JAX callable, that can be tuned.
    - `layers`: layer numbers, from 1. The $K^\star = 0$ forms hold for $\ell \gg 1$; the others from the first layer.
    - `K1`: the kernel of the first layer. For half-stable activations it must lie on the attracting side of $K^\star$.

    Examples:
        >>> fw.critical.asymptotics("relu", [1, 10, 100]).V.tolist()
        [0.0, 45.0, 495.0]
    """
    sigma = as_activation(activation)
    layer = as_layers(layers)
    start = as_number(K1, "K1", low=np.finfo(float).tiny)
    verdict = criticality(sigma)
    point = verdict.point
    if point is None:
        raise DomainError("activation", f"{sigma.name!r}: {verdict.reason}", "an activation that can be tuned")
    if verdict.universality_class is UniversalityClass.SCALE_INVARIANT:
        return _scale_invariant(verdict, layer, start)
    if verdict.universality_class is UniversalityClass.HALF_STABLE:
        at = averages_at(sigma, jnp.asarray(point.K_star))
        prediction = half_stable(point, at, layer, start)
        return Asymptotics(UniversalityClass.HALF_STABLE, layer, *prediction)
    if verdict.a1 is not None and point.order == 2:
        return _zero_kernel_smooth(sigma, verdict, point, layer, start)
    return _zero_kernel(sigma, verdict, point, layer, start)


def as_layers(layers: Any, argument: str = "layers") -> Array:
    """Layer numbers as an array, refused below 1."""
    layer = as_floats(layers, argument)
    if bool((np.asarray(layer) < 1).any()):
        raise DomainError(argument, f"{np.asarray(layer).min():g}", "layer numbers >= 1")
    return layer


def _scale_invariant(verdict: Criticality, layer: Array, K1: float) -> Asymptotics:
    r"""$K$ stays, $V = \nu(\ell-1)K^2$ and $G^{\{1\}} = 0$, PDLT (5.116), (5.120).

    With a corner, `perp` holds for angles far below $3/\rho\ell$: see `angle_flow`.
    """
    one = jnp.ones_like(layer)
    nu = verdict.exponents.nu if verdict.exponents else math.nan
    V = nu * (layer - 1) * K1**2
    return Asymptotics(verdict.universality_class, layer, K1 * one, one, one, V, 0 * one, 0 * one)


def _zero_kernel_smooth(
    activation: Activation, verdict: Criticality, point: CriticalPoint, layer: Array, K1: float
) -> Asymptotics:
    a1, a2, b1 = float(verdict.a1 or 0), float(verdict.a2 or 0), float(verdict.b1 or 0)
    if abs(a2 - a1**2) < 1e-9 * a1**2:
        raise DomainError("activation", f"{activation.name!r}, with a2 = a1^2", "one whose kernel has a logarithm")
    flow = flow_of_one_input(activation, jnp.asarray(K1), _REFERENCES[1], point.C_b, point.C_W)
    at = jnp.asarray(_REFERENCES, dtype=float)
    l_0 = float(jnp.exp(_limit(jnp.log(zero.starting_depth(a1, a2, at, flow.K[jnp.asarray(_REFERENCES) - 1])))))
    parallel = _amplitude(flow.chi_parallel, zero.parallel(a1, a2, l_0, at))
    perp = _amplitude(flow.chi_perp, zero.perp(a1, a2, b1, l_0, at))
    return Asymptotics(
        UniversalityClass.ZERO,
        layer,
        zero.kernel(a1, a2, l_0, layer),
        parallel * zero.parallel(a1, a2, l_0, layer),
        perp * zero.perp(a1, a2, b1, l_0, layer),
        zero.vertex(a1, a2, b1, l_0, layer),
        zero.metric(a1) * jnp.ones_like(layer),
        zero.renormalised_metric(a1, a2, b1, layer),
        l_0,
    )


def _limit(at_references: Array) -> Array:
    r"""A constant known up to $O(1/\ell)$ at two depths, one twice the other, extrapolated to infinite depth."""
    return 2 * at_references[1] - at_references[0]


def _amplitude(chi: Array, shape: Array) -> Array:
    """The constant in front of `shape`, from the products of susceptibilities down to the reference depths."""
    products = jnp.exp(jnp.cumsum(jnp.log(chi)))[jnp.asarray(_REFERENCES) - 2]
    return _limit(products / shape)


def _zero_kernel(
    activation: Activation, verdict: Criticality, point: CriticalPoint, layer: Array, K1: float
) -> Asymptotics:
    r"""Leading powers for kernels that fall otherwise than as $1/\ell$: from $K' = K + cK^q$,
    $K \simeq ((q-1)(-c)\ell)^{-1/(q-1)}$, $V \simeq \nu\ell K^2$, $G^{\{1\}} \simeq -\frac{q\nu}4\ell K$."""
    exponents, power = verdict.exponents, point.order - 1
    if exponents is None or math.isinf(power):
        raise DomainError("activation", f"{activation.name!r}: {verdict.reason}", "a kernel that falls as a power")
    flow = flow_of_one_input(activation, jnp.asarray(K1), _REFERENCES[1], point.C_b, point.C_W)

    def power_law(chi: Array, p: float) -> Array:
        return _amplitude(chi, jnp.asarray(_REFERENCES, dtype=float) ** -p) * layer**-p

    K = (power * -point.a1_tilde * layer) ** (-1 / power)
    analytic = not has_corner(activation) and math.isfinite(exponents.p_perp)
    return Asymptotics(
        UniversalityClass.ZERO,
        layer,
        K,
        power_law(flow.chi_parallel, exponents.p_parallel),
        power_law(flow.chi_perp, exponents.p_perp) if analytic else None,
        exponents.nu * layer * K**2,
        -point.order * exponents.nu / 4 * layer * K,
    )


@entry()
def semi_critical_asymptotics(
    activation: str | Activation, layers: Float[Array, "*l"] | Any, C_b: float, K1: float = 1.0
) -> Asymptotics:
    r"""A scale-invariant network with $C_W = 1/A_2$ and $C_b > 0$: $K = K^{(1)} + C_b(\ell-1)$, PDLT (5.116), and
    $V = \nu\sum_{s<\ell}K_s^2 \to \frac\nu3\ell K^2$: exponents $p_0 = -1$, $p_V = -3$; PDLT (5.109).

    Examples:
        >>> fw.critical.semi_critical_asymptotics("relu", [1, 10], C_b=0.5).K.tolist()
        [1.0, 5.5]
    """
    sigma = as_scale_invariant(activation)
    layer = as_layers(layers)
    start, bias = as_number(K1, "K1", low=np.finfo(float).tiny), as_number(C_b, "C_b", low=0.0)
    nu, m, one = 3 * sigma.A4 / sigma.A2**2 - 1, layer - 1, jnp.ones_like(layer)
    squares = m * start**2 + start * bias * m * (m - 1) + bias**2 * m * (m - 1) * (2 * m - 1) / 6
    K = start + bias * m
    return Asymptotics(UniversalityClass.SCALE_INVARIANT, layer, K, one, one, nu * squares, 0 * one)
