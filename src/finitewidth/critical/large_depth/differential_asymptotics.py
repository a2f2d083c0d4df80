"""The differentials of the tangent kernel deep in a critical network: solutions, growth exponents and scaling laws of each class."""

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
from ...activations import Activation, ScaleInvariant, as_activation
from ..classes.classes import UniversalityClass
from ..classes.classify import criticality
from ..one_input.differential_single_input import DifferentialRatios, DifferentialSingleInputFlow
from ..one_input.tangent_single_input import effective_exponents
from .asymptotics import as_layers

_ODD = 1e-12  # of p_perp - 1: the activation is odd


@dataclass(frozen=True, repr=False)
class DifferentialExponents(Result):
    r"""Powers of depth: a quantity $\sim\ell^{-p}$, so a negative $p$ is growth; `None` for what vanishes or does not exist.

    $p_P - 2p_\Theta = p_Q - 2p_\Theta = -1$, PDLT (11.65), and $p_X + p_0 - 3p_\Theta = -1$ for $R$, $S$ and $T$, PDLT (∞.22).
    """

    p_P: float | None
    p_Q: float | None
    p_R: float | None
    p_S: float | None
    p_T: float | None
    p_U: float | None


class DifferentialAsymptotics(Result, eqx.Module):
    r"""Predictions for `layers`. `slopes` are the factors in front of $\ell/n$ of the dimensionless couplings; that of $U$, which grows
    more slowly, is zero. `R`, `S`, `T`, `U` are `None` for activations with a kink, which have none."""

    universality_class: UniversalityClass = eqx.field(static=True)
    layers: Float[Array, "*l"]
    P: Float[Array, "*l"]
    Q: Float[Array, "*l"]
    R: Float[Array, "*l"] | None
    S: Float[Array, "*l"] | None
    T: Float[Array, "*l"] | None
    U: Float[Array, "*l"] | None
    exponents: DifferentialExponents = eqx.field(static=True)
    slopes: DifferentialRatios


@entry()
def differential_asymptotics(
    activation: str | Activation | Callable[[Array], Array],
    layers: Float[Array, "*l"] | Any,
    K1: float | None = None,
    lambda_b: float = 1.0,
    lambda_W: float = 1.0,
) -> DifferentialAsymptotics:
    r"""$P$, $Q$, $R$, $S$, $T$, $U$ of one input deep in a critical network of equal hidden widths.

    - Scale-invariant: exact from the first layer, for uniform rates, PDLT (11.74), (11.79); $R$ to $U$ for linear networks,
      PDLT (∞.45)-(∞.51).
    - $K^\star = 0$, smooth at zero: the leading powers for $\ell \gg 1$, PDLT (11.98)-(11.102), (∞.30)-(∞.37) and, where the activation is
      not odd, what takes their place; for the rates $\lambda_b^{(\ell)} = \tilde\lambda_b\ell^{-p_\perp}$,
      $\lambda_W^{(\ell)} = \tilde\lambda_W\ell^{1-p_\perp}$ of PDLT (11.91). Corrections are of relative size $\log\ell/\ell$.

    **Arguments:**

    - `activation`: a name, an `Activation`, or any elementwise JAX callable, of one of these classes.
    - `layers`: layer numbers, from 1.
    - `K1`: the kernel of the first layer, 1 unless given; it matters for scale-invariant activations only.
    - `lambda_b`, `lambda_W`: the rates, $\tilde\lambda$ in the $K^\star = 0$ class.

    Examples:
        >>> late = fw.critical.differential_asymptotics("tanh", [1000])
        >>> round(float(late.slopes.P), 6), round(float(late.slopes.Q), 6)
        (-0.083333, -0.041667)
    """
    sigma, layer = as_activation(activation), as_layers(layers)
    rates = as_number(lambda_b, "lambda_b", low=0.0), as_number(lambda_W, "lambda_W", low=0.0)
    if rates == (0.0, 0.0):
        raise DomainError("lambda_b, lambda_W", "both zero", "at least one positive rate")
    start = 1.0 if K1 is None else as_number(K1, "K1", low=np.finfo(float).tiny)
    verdict = criticality(sigma)
    if isinstance(sigma, ScaleInvariant):
        return _scale_invariant(sigma, layer, start, *rates)
    if verdict.universality_class is not UniversalityClass.ZERO or verdict.point is None or verdict.point.order != 2:
        want = "a scale-invariant activation, or one with K* = 0 that is smooth at zero; else use `differential_single_input_flow`"
        raise DomainError("activation", f"{sigma.name!r}: {verdict.reason}", want)
    if verdict.a1 is None or verdict.b1 is None:
        raise DomainError("activation", f"{sigma.name!r}: {verdict.reason}", "one smooth at zero with a1 < 0")
    return _zero_kernel(-verdict.a1, verdict.b1 / verdict.a1, verdict.point.C_W, layer, *rates)


def _scale_invariant(
    activation: ScaleInvariant, layer: Array, K: float, lambda_b: float, lambda_W: float
) -> DifferentialAsymptotics:
    r"""$P = 0$, PDLT (11.74), and with $\theta = \lambda_b + \lambda_WA_2K$

    $$Q = \frac{\ell(\ell^2-1)}6\frac{A_4}{A_2}\theta\lambda_WK\ \text{PDLT (11.79)},\qquad
      S = \frac{\ell^2(\ell^2-1)}{12}\theta^2\lambda_W,\quad T = \frac{\ell^2(\ell^2-1)}{12}\theta\lambda_W^2K\ \text{PDLT (∞.46)-(∞.48)},$$

    the last two, with $R = U = 0$, for linear networks of slope one; a slope $a$ with $C_W = 1/a^2$ is the same network with
    $\lambda_W$ times $a^2$.
    """
    A2, A4 = activation.A2, activation.A4
    theta, zero = lambda_b + lambda_W * A2 * K, jnp.zeros_like(layer)
    Q = layer * (layer**2 - 1) / 6 * A4 / A2 * theta * lambda_W * K
    slope = A4 / (6 * A2) * lambda_W * K / theta
    if activation.kinks:
        exponents = DifferentialExponents(None, -3.0, None, None, None, None)
        ratios = DifferentialRatios(0.0, slope)
        return DifferentialAsymptotics(
            UniversalityClass.SCALE_INVARIANT, layer, zero, Q, None, None, None, None, exponents, ratios
        )
    growth, weight = layer**2 * (layer**2 - 1) / 12, lambda_W * A2
    S, T = growth * theta**2 * weight, growth * theta * weight**2 * K
    exponents = DifferentialExponents(None, -3.0, None, -4.0, -4.0, None)
    ratios = DifferentialRatios(0.0, slope, 0.0, weight * K / (12 * theta), (weight * K / theta) ** 2 / 12, 0.0)
    return DifferentialAsymptotics(
        UniversalityClass.SCALE_INVARIANT, layer, zero, Q, zero, S, T, zero, exponents, ratios
    )


def _zero_kernel(
    a: float, p: float, C_W: float, layer: Array, lambda_b: float, lambda_W: float
) -> DifferentialAsymptotics:
    r"""With $a = -a_1$, $p = p_\perp$, $X = \tilde\lambda_b + \tilde\lambda_W\sigma_1^2/a$, $\Theta = X\ell^{1-p}$,
    $\omega = \tilde\lambda_W\sigma_1^2/X$, $\pi = -\frac{2-p}{3(5-p)}$, $q = 1 - p - \tilde\lambda_b/X$ and $v = \omega + 4a(1-p)$:

    $$\frac P{\Theta^2\ell} = \pi\ \text{PDLT (11.98)},\quad \frac Q{\Theta^2\ell} = \frac q{(5-p)^2}\ \text{PDLT (11.101)},\quad
      \frac R{\Theta^3\ell^2} = \frac{-a(4-3p)(\frac13+\pi) + v\pi}{5-p},\quad \frac S{\Theta^3\ell^2} = \frac v{3(5-p)},$$

    $$\frac T{\Theta^3\ell^2} = \frac{2aq^2}{(5-p)^3},\qquad \frac U{\Theta^3} = \frac{4a(1-p)}{4-p}\,\ell:$$

    PDLT (∞.30)-(∞.33) for odd activations, $p = 1$, where $U = \frac a2\Theta^3$.
    """
    X = lambda_b + lambda_W / (C_W * a)
    theta = X * layer ** (1 - p)
    omega, pi, q = lambda_W / C_W / X, -(2 - p) / (3 * (5 - p)), 1 - p - lambda_b / X
    v = omega + 4 * a * (1 - p)
    r, s, t = (-a * (4 - 3 * p) * (1 / 3 + pi) + v * pi) / (5 - p), v / (3 * (5 - p)), 2 * a * q**2 / (5 - p) ** 3
    odd = abs(p - 1) < _ODD
    U = theta**3 * (a / 2 if odd else 4 * a * (1 - p) / (4 - p) * layer)
    squared = 3 * p - 5
    exponents = DifferentialExponents(2 * p - 3, 2 * p - 3, squared, squared, squared, 0.0 if odd else 3 * p - 4)
    return DifferentialAsymptotics(
        UniversalityClass.ZERO,
        layer,
        P=pi * theta**2 * layer,
        Q=q / (5 - p) ** 2 * theta**2 * layer,
        R=r * theta**3 * layer**2,
        S=s * theta**3 * layer**2,
        T=t * theta**3 * layer**2,
        U=U,
        exponents=exponents,
        slopes=DifferentialRatios(pi, q / (5 - p) ** 2, r / a, s / a, t / a, 0.0),
    )


class ScalingLaws(Result, eqx.Module):
    r"""Effective exponents $p$ of the dimensionless couplings, $\sim\ell^{-p}$, between neighbouring layers, the first two left out: minus
    one where they grow in proportion to $\ell/n$, PDLT (11.65), (∞.22). `None` for couplings that vanish or are not known."""

    axes = ("layer",)

    layer: Float[Array, " steps"]
    P: Float[Array, " steps"] | None
    Q: Float[Array, " steps"] | None
    R: Float[Array, " steps"] | None
    S: Float[Array, " steps"] | None
    T: Float[Array, " steps"] | None
    U: Float[Array, " steps"] | None


@entry()
def scaling_laws(flow: DifferentialSingleInputFlow) -> ScalingLaws:
    r"""How the dimensionless couplings of the differentials grow with depth, PDLT (11.61)-(11.65), (∞.21), (∞.22).

    At criticality $p_P - 2p_\Theta = p_Q - 2p_\Theta = -1$ and $p_X + p_0 - 3p_\Theta = -1$ for $R$, $S$, $T$, in every class; $U$ falls as
    $1/\ell$ for odd activations. From the exponents of a flow far from the first layer one reads whether that holds.

    Examples:
        >>> flow = fw.critical.differential_single_input_flow("relu", 1.0, depth=200, C_b=0.0, C_W=2.0, through="dntk")
        >>> round(float(fw.critical.scaling_laws(flow).Q[-1]), 3)
        -1.0
    """
    if len(flow.K) < 4:
        raise DomainError(
            "flow", f"{len(flow.K)} layers", "at least four: exponents are read between layers from the second on"
        )
    found: dict[str, Any] = {}
    for name, ratio in flow.ratios._asdict().items():
        later = None if ratio is None else np.asarray(ratio)[1:]
        largest = 0.0 if later is None else np.abs(later).max()
        vanishes = later is None or not (np.abs(later) > 1e-12 * max(largest, 1e-9)).all()
        found[name] = None if vanishes else effective_exponents(later, first_layer=2)
    return ScalingLaws(np.arange(3.0, len(flow.K) + 1), **found)
