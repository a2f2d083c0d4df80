"""The angle between two inputs of a scale-invariant network, layer by layer."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ..._entry import entry
from ..._errors import DomainError
from ..._memory import check_layers
from ..._result import Result
from ..._validation import as_count, as_floats, as_number, is_concrete
from ...activations import Activation, ScaleInvariant, as_activation
from .angle_moments import corner_strength

_SMALL_ANGLE = 0.5  # below it the series loses nothing, above it the closed form does not
_SERIES_TERMS = 12


class AngleFlow(Result, eqx.Module):
    r"""Layer $\ell$ at index $\ell-1$. At criticality `K_0` and `K_2` are the components of the kernel in the
    $\gamma$-basis, $K_d\frac{1\pm\cos\psi}2$, PDLT (5.167)-(5.168)."""

    axes = ("layer",)

    psi: Float[Array, "L *psi"]
    K_0: Float[Array, "L *psi"]
    K_2: Float[Array, "L *psi"]


def _sine_minus_cosine(psi: Array) -> Array:
    r"""$(\sin\psi - \psi\cos\psi)/\psi^3 = \sum_{k\ge1}(-1)^{k+1}\frac{2k}{(2k+1)!}\psi^{2k-2}$, without
    cancellation."""
    small = jnp.where(psi < _SMALL_ANGLE, psi, 0.0)
    terms = [(-1) ** (k + 1) * 2 * k / math.factorial(2 * k + 1) for k in range(1, _SERIES_TERMS)]
    series = jnp.polyval(jnp.asarray(terms[::-1]), small**2)
    large = jnp.where(psi < _SMALL_ANGLE, 1.0, psi)
    return jnp.where(psi < _SMALL_ANGLE, series, (jnp.sin(large) - large * jnp.cos(large)) / large**3)


def next_angle(rho: float | Array, psi: Float[Array, "*psi"]) -> Float[Array, "*psi"]:
    r"""One layer, PDLT (5.162): $\cos\psi' = \cos\psi + \rho(\sin\psi-\psi\cos\psi)$.

    Both half-angle functions are computed without cancellation: small angles keep all their digits, and the gradient is
    finite from 0 to $\pi$.
    """
    correction = rho * psi**3 * _sine_minus_cosine(psi) / 2
    sine = jnp.sin(psi / 2)
    # sin^2(psi'/2) = sin^2(psi/2) (1 - ratio), with ratio ~ 2 rho psi / 3
    half = jnp.sinc(psi / (2 * math.pi)) / 2  # sin(psi/2)/psi
    ratio = rho * psi * _sine_minus_cosine(psi) / (2 * half**2)
    tiny = jnp.finfo(psi.dtype).tiny  # opposite inputs: |z| makes them equal, a linear network keeps them opposite
    new_sine = sine * jnp.sqrt(jnp.maximum(1 - ratio, tiny))
    return 2 * jnp.arctan2(new_sine, jnp.sqrt(jnp.maximum(jnp.cos(psi / 2) ** 2 + correction, tiny)))


@compiled_in_haste(light=5000, static_argnums=2)
def _flow(rho: Array, psi: Array, depth: int) -> Array:
    return jax.lax.scan(lambda angle, _: (next_angle(rho, angle), angle), psi, length=depth)[1]


def as_scale_invariant(activation: str | Activation | Callable[[Array], Array]) -> ScaleInvariant:
    """The activation, if it is one of the scale-invariant family."""
    sigma = as_activation(activation)
    if not isinstance(sigma, ScaleInvariant):
        raise DomainError("activation", repr(sigma.name), "a scale-invariant activation: see `scale_invariant(a, b)`")
    return sigma


@entry()
def angle_flow(
    activation: str | Activation, psi: Float[Array, "*psi"] | float | Any, depth: int, K_d: float = 1.0
) -> AngleFlow:
    r"""The polar angle $\psi^{(\ell)}$ of two inputs of equal norm, PDLT (5.162), (5.166)-(5.168).

    At late layers $\psi \to \frac{3}{\rho\ell}\big[1-\frac32\frac{\log(\ell/\ell_0)}\ell\big]$ and
    $K_{[2]} \to \frac{9}{4\rho^2\ell^2}K_d$, because $\delta\delta K_{[2]}' = \delta\delta K_{[2]}
    - \frac{4\rho}{3\sqrt{K_d}}(\delta\delta K_{[2]})^{3/2}$, PDLT (5.171). The angle flows in the same way for any
      $C_W$ as long as $C_b = 0$.

    **Arguments:**

    - `activation`: scale-invariant.
    - `psi`: the angle in the first layer, in $[0, \pi]$, or an array of angles.
    - `K_d`: the kernel of each input, which criticality keeps.

    Examples:
        >>> fw.critical.angle_flow("relu", 0.5, depth=3).psi.round(6).tolist()
        [0.5, 0.472316, 0.447691]
    """
    sigma = as_scale_invariant(activation)
    angle = as_angle(psi)
    norm = as_number(K_d, "K_d", low=0.0)
    check_layers(as_count(depth, "depth"))
    angles = _flow(jnp.asarray(corner_strength(sigma)), angle, depth)
    return AngleFlow(angles, norm * jnp.cos(angles / 2) ** 2, norm * jnp.sin(angles / 2) ** 2)


@entry()
def crossover_depth(activation: str | Activation, psi: float) -> float:
    r"""The depth beyond which the angle forgets where it began: $\ell_\times = \frac3{\rho\,\psi^{(1)}}$,
    PDLT (5.169).

    Examples:
        >>> round(fw.critical.crossover_depth("relu", 0.1), 4)
        94.2478
    """
    sigma = as_scale_invariant(activation)
    angle, rho = float(as_angle(psi)), corner_strength(sigma)
    return math.inf if angle * rho == 0 else 3 / (rho * angle)


def as_angle(psi: Any) -> Array:
    r"""Angles as an array, refused outside $[0, \pi]$."""
    angle = as_floats(psi, "psi")
    if is_concrete(angle) and bool(((np.asarray(angle) < 0) | (np.asarray(angle) > math.pi)).any()):
        raise DomainError("psi", "an angle outside [0, pi]", "angles in [0, pi]")
    return angle
