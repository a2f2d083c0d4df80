r"""The single-input averages everything in this room is made of: $g = \langle\sigma^2\rangle_K$, $\langle\sigma'^2\rangle_K$, ...

Derivatives in $K$ use $\frac{d}{dK}\langle F\rangle_K = \frac1{2K}\langle zF'\rangle_K$, PDLT (5.53), the form without
cancellation at small $K$, in which a jump of $F$ at a kink $c$ adds $\frac{c}{2K}[F]_c\,p_K(c)$.
"""

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..activations import Activation, ScaleInvariant
from ..activations.families import ExponentialSum
from ..gaussian.function import Function, differentiate
from ..gaussian.line import line_rule

# Finite sums of exponentials cancel at small K, where quadrature does not; at large K quadrature aliases their
# oscillations or loses their tails.
_SUM_FROM = 1.0


class SingleInput(NamedTuple):
    r"""$g = \langle\sigma^2\rangle_K$ with two derivatives, $s = \langle\sigma'^2\rangle_K$ with one, and
    $v = \langle\sigma^4\rangle_K - \langle\sigma^2\rangle_K^2$."""

    g: Float[Array, "*K"]
    dg: Float[Array, "*K"]
    ddg: Float[Array, "*K"]
    s: Float[Array, "*K"]
    ds: Float[Array, "*K"]
    v: Float[Array, "*K"]


def single_input(activation: Activation, K: Float[Array, "*K"]) -> SingleInput:
    """All single-input averages at each variance in `K`; differentiable in `K`."""
    if isinstance(activation, ScaleInvariant):
        return _of_scale_invariant(activation, K)
    if not isinstance(activation, ExponentialSum):
        return _by_quadrature(activation, K)
    large = K >= _SUM_FROM
    sums = _by_summation(activation, jnp.where(large, K, _SUM_FROM))
    quadrature = _by_quadrature(activation, jnp.where(large, _SUM_FROM, K))
    return jax.tree.map(functools.partial(jnp.where, large), sums, quadrature)


def _of_scale_invariant(activation: ScaleInvariant, K: Array) -> SingleInput:
    r"""$g = A_2K$, $\langle\sigma'^2\rangle = A_2$, $\langle\sigma^4\rangle = 3A_4K^2$, PDLT (5.64), (5.113)-(5.114)."""
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
    bending = mean(z**2 * (slope**2 + value * bend)) - radial
    s_growth = 2 * mean(z * slope * bend)
    if activation.kinks:
        corner, jump = _kink_terms(activation, K)
        bending, s_growth = bending + corner, s_growth + jump
    variance = mean((value**2 - g[..., None]) ** 2)  # centred first: no digits cancel at small K
    return SingleInput(g, radial / K, bending / (2 * K**2), s, s_growth / (2 * K), variance)


def _kink_terms(activation: Activation, K: Array) -> tuple[Array, Array]:
    r"""$\sum_c c^2\sigma(c)[\sigma']_c\,p_K(c)$ and $\sum_c c\,[\sigma'^2]_c\,p_K(c)$ over the kinks $c$."""
    kinks = jnp.asarray(activation.kinks, dtype=K.dtype)
    squared_slope = Function(lambda z: activation.derivative(1)(z) ** 2, activation.kinks)
    density = jnp.exp(-(kinks**2) / (2 * K[..., None])) / jnp.sqrt(2 * math.pi * K[..., None])
    corner = jnp.sum(density * kinks**2 * activation(kinks) * activation.jumps(1), axis=-1)
    return corner, jnp.sum(density * kinks * squared_slope.jumps(0), axis=-1)


def _by_summation(activation: ExponentialSum, K: Array) -> SingleInput:
    """Closed forms for finite sums of exponentials."""

    def g(k: Array) -> Array:
        return activation.closed_pair(0, 0, k, k, k)

    def s(k: Array) -> Array:
        return activation.closed_pair(1, 1, k, k, k)

    fourth = jnp.vectorize(lambda k: activation.closed_product((0, 0, 0, 0), jnp.full((4, 4), k)))
    dg = differentiate(g)
    return SingleInput(g(K), dg(K), differentiate(dg)(K), s(K), differentiate(s)(K), fourth(K) - g(K) ** 2)
