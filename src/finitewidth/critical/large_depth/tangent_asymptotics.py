"""The tangent kernel deep in a critical network: solutions, growth exponents and scaling laws of each class."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import DomainError
from ..._result import Result
from ..._validation import as_number
from ...activations import Activation, as_activation
from ..classes.classes import Criticality, CriticalPoint, UniversalityClass
from ..classes.classify import criticality
from ..one_input.coefficients import kernel_series
from ..one_input.tangent_averages import tangent_averages_at
from ..one_input.tangent_closed import constant_kernel
from ..one_input.tangent_single_input import Ratios, TangentSource, tangent_source
from .asymptotics import as_layers

_AT_THE_FIXED_POINT = 1e-9


@dataclass(frozen=True, repr=False)
class TangentExponents(Result):
    r"""Powers of depth: a quantity $\sim\ell^{-p}$, so a negative $p$ is growth, PDLT (9.53), PDLT (9.72).

    In the scale-invariant and $K^\star = 0$ classes $p_V - 2p_0 = p_A - 2p_\Theta = p_B - 2p_\Theta = p_D - p_\Theta - p_0 =
    p_F - p_\Theta - p_0 = -1$, PDLT (9.26)-(9.27): all relative fluctuations grow as $\ell/n$.
    """

    p_0: float
    p_Theta: float
    p_V: float
    p_D: float
    p_F: float
    p_B: float
    p_A: float


class TangentAsymptotics(Result, eqx.Module):
    r"""Predictions for `layers`. `slopes` are the factors in front of $\ell/n$ of the dimensionless couplings, `None` where
    some of them grow faster than that."""

    universality_class: UniversalityClass = eqx.field(static=True)
    layers: Float[Array, "*l"]
    K: Float[Array, "*l"]
    Theta: Float[Array, "*l"]
    V: Float[Array, "*l"]
    D: Float[Array, "*l"]
    F: Float[Array, "*l"]
    B: Float[Array, "*l"]
    A: Float[Array, "*l"]
    exponents: TangentExponents = eqx.field(static=True)
    slopes: Ratios | None


@entry()
def tangent_asymptotics(
    activation: str | Activation | Callable[[Array], Array],
    layers: Float[Array, "*l"] | Any,
    K1: float | None = None,
    lambda_b: float = 1.0,
    lambda_W: float = 1.0,
) -> TangentAsymptotics:
    r"""The tangent kernel of one input and its fluctuations deep in a critical network of equal hidden widths.

    - Scale-invariant: exact from the first layer, for uniform rates, PDLT (9.42)-(9.53).
    - $K^\star = 0$, smooth at zero: the leading powers for $\ell \gg 1$, PDLT (9.65)-(9.86), for the rates
      $\lambda_b^{(\ell)} = \tilde\lambda_b\ell^{-p_\perp}$ and $\lambda_W^{(\ell)} = \tilde\lambda_W\ell^{1-p_\perp}$ of PDLT (9.70).
      Corrections are of relative size $\log\ell/\ell$, and large for $A$ when the activation is not odd: then use
      `tangent_single_input_flow`.
    - Half-stable: exact for inputs at $K^\star$ and uniform rates. There the norm of a signal changes how directions spread
      ($h \ne 0$), and $D$ and $A$ grow faster than the scaling laws of the other classes say.

    **Arguments:**

    - `activation`: a name, an `Activation`, or any elementwise JAX callable, that can be tuned.
    - `layers`: layer numbers, from 1.
    - `K1`: the kernel of the first layer: 1 unless given; $K^\star$ for half-stable activations.
    - `lambda_b`, `lambda_W`: the rates, $\tilde\lambda$ in the $K^\star = 0$ class.

    Examples:
        >>> fw.critical.tangent_asymptotics("relu", [10], K1=1.0).Theta.tolist()
        [15.0]
    """
    sigma, layer = as_activation(activation), as_layers(layers)
    rates = as_number(lambda_b, "lambda_b", low=0.0), as_number(lambda_W, "lambda_W", low=0.0)
    if rates == (0.0, 0.0):
        raise DomainError("lambda_b, lambda_W", "both zero", "at least one positive rate")
    start = None if K1 is None else as_number(K1, "K1", low=np.finfo(float).tiny)
    verdict = criticality(sigma)
    point = verdict.point
    if point is None:
        raise DomainError("activation", f"{sigma.name!r}: {verdict.reason}", "an activation that can be tuned")
    if verdict.universality_class is UniversalityClass.ZERO:
        return _zero_kernel(sigma, verdict, point, layer, rates)
    if verdict.universality_class is UniversalityClass.HALF_STABLE:
        K_star = float(point.K_star or 0.0)
        if start is not None and abs(start / K_star - 1) > _AT_THE_FIXED_POINT:
            want = f"the fixed point K* = {K_star:.10g}; elsewhere use `tangent_single_input_flow`"
            raise DomainError("K1", f"{start:g}", want)
        start = K_star
    return _constant_kernel(sigma, verdict.universality_class, point, layer, 1.0 if start is None else start, rates)


def _constant_kernel(
    activation: Activation,
    universality_class: UniversalityClass,
    point: CriticalPoint,
    layer: Array,
    K: float,
    rates: tuple[float, float],
) -> TangentAsymptotics:
    at = tangent_source(tangent_averages_at(activation, jnp.asarray(K)), point.C_W)
    solution = constant_kernel(at, point.C_W, layer, *rates)
    scale_invariant = universality_class is UniversalityClass.SCALE_INVARIANT
    exponents = TangentExponents(
        0.0, -1.0, -1.0, *((-2.0, -2.0, -3.0, -3.0) if scale_invariant else (-3.0, -2.0, -3.0, -5.0))
    )
    slopes = _scale_invariant_slopes(at, K, point.C_W, *rates) if scale_invariant else None
    return TangentAsymptotics(universality_class, layer, K * jnp.ones_like(layer), *solution, exponents, slopes)


def _scale_invariant_slopes(at: TangentSource, K: float, C_W: float, lambda_b: float, lambda_W: float) -> Ratios:
    r"""Leading coefficients of PDLT (9.42), (9.49)-(9.52) over powers of PDLT (9.44): with $\rho = A_4/A_2^2$ and
    $w = \lambda_WA_2K^\star$,

    $$\frac V{K^2} \to (3\rho-1)\ell,\quad \frac D{K\Theta} \to \frac{(\rho-1)\lambda_b+(4\rho-2)w}{2(\lambda_b+w)}\ell,\quad
      \frac F{K\Theta} \to \frac\rho2\ell,\quad \frac B{\Theta^2} \to \frac\rho3\ell,\quad
      \frac A{\Theta^2} \to \frac{(\rho-1)\lambda_b^2+3(\rho-1)\lambda_bw+(5\rho-3)w^2}{3(\lambda_b+w)^2}\ell.$$
    """
    rho, w = float(at.slopes), lambda_W * K / C_W
    total = lambda_b + w
    return Ratios(
        V=3 * rho - 1,
        D=((rho - 1) * lambda_b + (4 * rho - 2) * w) / (2 * total),
        F=rho / 2,
        B=rho / 3,
        A=((rho - 1) * lambda_b**2 + 3 * (rho - 1) * lambda_b * w + (5 * rho - 3) * w**2) / (3 * total**2),
    )


def _zero_kernel(
    activation: Activation, verdict: Criticality, point: CriticalPoint, layer: Array, rates: tuple[float, float]
) -> TangentAsymptotics:
    r"""With $X = \tilde\lambda_b + \frac{\tilde\lambda_W\sigma_1^2}{-a_1}$ and
    $Y = p_\perp\tilde\lambda_b + (p_\perp-1)\frac{\tilde\lambda_W\sigma_1^2}{-a_1}$:

    $$K \to \frac1{(-a_1)\ell}\ \text{PDLT (9.65)},\quad V \to \frac2{3a_1^2\ell}\ \text{PDLT (9.66)},\quad
      \Theta \to X\ell^{1-p_\perp}\ \text{PDLT (9.71)},\quad F \to \frac{X\ell^{1-p_\perp}}{(5-p_\perp)(-a_1)}\ \text{PDLT (9.81)},$$

    $$B \to \tfrac13X^2\ell^{3-2p_\perp}\ \text{PDLT (9.82)},\quad D \to -\frac{2Y}{9(-a_1)}\ell^{1-p_\perp}\ \text{PDLT (9.84)},\quad
      A \to \tfrac4{27}Y^2\ell^{3-2p_\perp}\ \text{PDLT (9.86)}.$$
    """
    if verdict.a1 is None or verdict.b1 is None or point.order != 2:
        raise DomainError("activation", f"{activation.name!r}: {verdict.reason}", "one smooth at zero with a1 < 0")
    p, (lambda_b, lambda_W) = verdict.b1 / verdict.a1, rates
    inverse, weights = 1 / -verdict.a1, lambda_W / (point.C_W * -verdict.a1)
    X, Y = lambda_b + weights, p * lambda_b + (p - 1) * weights
    theta, squared = layer ** (1 - p), layer ** (3 - 2 * p)
    return TangentAsymptotics(
        UniversalityClass.ZERO,
        layer,
        K=inverse / layer,
        Theta=X * theta,
        V=2 / 3 * inverse**2 / layer,
        D=-2 / 9 * Y * inverse * theta,
        F=X / (5 - p) * inverse * theta,
        B=X**2 / 3 * squared,
        A=4 / 27 * Y**2 * squared,
        exponents=TangentExponents(1.0, p - 1, 1.0, p - 1, p - 1, 2 * p - 3, 2 * p - 3),
        slopes=Ratios(V=2 / 3, D=-2 / 9 * Y / X, F=1 / (5 - p), B=1 / 3, A=4 / 27 * (Y / X) ** 2),
    )


@entry()
def decay_exponents(activation: Activation, universality_class: UniversalityClass) -> tuple[float, float]:
    r"""$p_0$ and $p_\perp$ of one input: $K \sim \ell^{-p_0}$ and
    $\prod_{\ell'}^{\ell-1}\chi_\perp \to (\ell'/\ell)^{p_\perp}$, PDLT (9.68).

    Both are zero where the susceptibilities stay at one, in the scale-invariant and half-stable classes. In the $K^\star = 0$ class
    $K' = K + cK^{1+q}$ and $\chi_\perp = 1 + dK^q$ give $p_0 = 1/q$ and $p_\perp = d/(qc)$, which is $b_1/a_1$ for $q = 1$; the
    second is infinite if $\chi_\perp$ has a correction of lower power, so that its products fall faster than any power.

    Examples:
        >>> fw.critical.decay_exponents(fw.ACTIVATIONS["tanh"], fw.criticality("tanh").universality_class)
        (1.0, 1.0)
    """
    if universality_class is not UniversalityClass.ZERO:
        return 0.0, 0.0
    growth = kernel_series(activation).growth()
    if growth is None:  # as hard tanh: the kernel falls slower than any power
        return 0.0, 0.0
    p_perp = math.inf if growth.slope_first else growth.d / (growth.power * growth.c)
    return 1 / growth.power, p_perp
