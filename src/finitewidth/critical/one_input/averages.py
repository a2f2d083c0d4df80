r"""The single-input averages everything in this room is made of: $g = \langle\sigma^2\rangle_K$,
$\langle\sigma'^2\rangle_K$, ...

Derivatives in $K$ use $\frac{d}{dK}\langle F\rangle_K = \frac1{2K}\langle zF'\rangle_K$, PDLT (5.53), the form without
cancellation at small $K$, in which a jump of $F$ at a kink $c$ adds $\frac{c}{2K}[F]_c\,p_K(c)$.
"""

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import jax
import jax.numpy as jnp
from jaxtyping import Float

from ..._arrays import Array
from ...activations import Activation, ScaleInvariant
from ...activations.families import ExponentialSum
from ...gaussian.function import differentiate
from ...gaussian.line import line_rule
from .one_sided import one_sided

# Finite sums of exponentials cancel at small K, where quadrature does not; at large K quadrature aliases their
# oscillations or loses their tails.
SUM_FROM = 1.0

if TYPE_CHECKING:
    Numbers = Any  # whoever asks for averages knows which he gets
else:
    Numbers = Array | float  # arrays inside computations and in tables, floats at a point


class SingleInput(NamedTuple):
    r"""$g = \langle\sigma^2\rangle_K$ with two derivatives, $s = \langle\sigma'^2\rangle_K$ with one, and
    $v = \langle\sigma^4\rangle_K - \langle\sigma^2\rangle_K^2$."""

    g: Numbers
    dg: Numbers
    ddg: Numbers
    s: Numbers
    ds: Numbers
    v: Numbers


def single_input(activation: Activation, K: Float[Array, "*K"]) -> SingleInput:
    """All single-input averages at each variance in `K`; differentiable in `K`."""
    if isinstance(activation, ScaleInvariant):
        return _of_scale_invariant(activation, K)
    if not isinstance(activation, ExponentialSum):
        return _by_quadrature(activation, K)
    large = K >= SUM_FROM
    sums = _by_summation(activation, jnp.where(large, K, SUM_FROM))
    quadrature = _by_quadrature(activation, jnp.where(large, SUM_FROM, K))
    return jax.tree.map(functools.partial(jnp.where, large), sums, quadrature)


averages_at = functools.partial(jax.jit, static_argnums=0)(single_input)
"""`single_input`, compiled."""


def _of_scale_invariant(activation: ScaleInvariant, K: Array) -> SingleInput:
    r"""$g = A_2K$, $\langle\sigma'^2\rangle = A_2$, $\langle\sigma^4\rangle = 3A_4K^2$, PDLT (5.64),
    (5.113)-(5.114)."""
    A2, A4 = activation.A2, activation.A4
    one, zero = jnp.ones_like(K), jnp.zeros_like(K)
    return SingleInput(A2 * K, A2 * one, zero, A2 * one, zero, (3 * A4 - A2**2) * K**2)


def _by_quadrature(activation: Activation, K: Array) -> SingleInput:
    """One rule and three derivatives of the activation give everything."""
    z, weights = line_rule(K, activation.kinks)
    value, slope, bend = activation(z), activation.derivative(1)(z), activation.derivative(2)(z)

    def mean(terms: Array) -> Array:
        return jnp.sum(weights * terms, axis=-1)

    g, s, radial = mean(value**2), mean(slope**2), mean(z * value * slope)
    dg, ds = radial / K, mean(z * slope * bend) / K
    ddg = (mean(z**2 * (slope**2 + value * bend)) - radial) / (2 * K**2)
    if activation.kinks:
        kink_dg, kink_ddg, kink_ds = _kink_terms(activation, K)
        dg, ddg, ds = dg + kink_dg, ddg + kink_ddg, ds + kink_ds
    variance = mean((value**2 - g[..., None]) ** 2)  # centred first: no digits cancel at small K
    return SingleInput(g, dg, ddg, s, ds, variance)


def _kink_terms(activation: Activation, K: Array) -> tuple[Array, Array, Array]:
    r"""What the jumps at the kinks $c$ add to $g'$, $g''$ and $s'$. With $p = p_K(c)$:

    $$\frac{c\,p}{2K}[\sigma^2]_c,\qquad \frac{c^2p}{2K^2}[\sigma\sigma']_c + \frac{c\,p}{2K}[\sigma^2]_c
      \Big(\frac{c^2}{2K^2}-\frac3{2K}\Big),\qquad \frac{c\,p}{2K}[\sigma'^2]_c$$
    """
    c, k = jnp.asarray(activation.kinks, dtype=K.dtype), K[..., None]
    (value, value_left), (slope, slope_left) = one_sided(activation, 0, c), one_sided(activation, 1, c)
    squares, slopes = value**2 - value_left**2, slope**2 - slope_left**2
    products = value * slope - value_left * slope_left
    weight = c * jnp.exp(-(c**2) / (2 * k)) / jnp.sqrt(2 * math.pi * k) / (2 * k)
    ddg = weight * (c / k * products + squares * (c**2 / (2 * k**2) - 3 / (2 * k)))
    return jnp.sum(weight * squares, axis=-1), jnp.sum(ddg, axis=-1), jnp.sum(weight * slopes, axis=-1)


def _by_summation(activation: ExponentialSum, K: Array) -> SingleInput:
    """Closed forms for finite sums of exponentials."""

    def g(k: Array) -> Array:
        return cast(Array, activation.closed_pair(0, 0, k, k, k))

    def s(k: Array) -> Array:
        return cast(Array, activation.closed_pair(1, 1, k, k, k))

    fourth = jnp.vectorize(lambda k: activation.closed_product((0, 0, 0, 0), jnp.full((4, 4), k)))
    dg = differentiate(g)
    return SingleInput(g(K), dg(K), differentiate(dg)(K), s(K), differentiate(s)(K), fourth(K) - g(K) ** 2)
