r"""The single-input averages everything in this room is made of: $g = \langle\sigma^2\rangle_K$,
$\langle\sigma'^2\rangle_K$, ...

Derivatives in $K$ use $\frac{d}{dK}\langle F\rangle_K = \frac1{2K}\langle zF'\rangle_K$, PDLT (5.53), the form without
cancellation at small $K$, in which a jump of $F$ at a kink $c$ adds $\frac{c}{2K}[F]_c\,p_K(c)$.
"""

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ...activations import Activation, ScaleInvariant
from ...activations.families import ExponentialSum
from ...gaussian.derivatives import differentiate
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


averages_at = compiled_in_haste(light=1000, static_argnums=0)(single_input)
"""`single_input`, compiled."""


def _of_scale_invariant(activation: ScaleInvariant, K: Array) -> SingleInput:
    r"""$g = A_2K$, $\langle\sigma'^2\rangle = A_2$, $\langle\sigma^4\rangle = 3A_4K^2$, PDLT (5.64),
    (5.113)-(5.114)."""
    A2, A4 = activation.A2, activation.A4
    one, zero = jnp.ones_like(K), jnp.zeros_like(K)
    return SingleInput(A2 * K, A2 * one, zero, A2 * one, zero, (3 * A4 - A2**2) * K**2)


def _by_quadrature(activation: Activation, K: Array) -> SingleInput:
    """One rule and three derivatives of the activation give everything."""
    z, weights = line_rule(K, activation.kinks, activation.places)
    value, slope, bend = activation(z), activation.derivative(1)(z), activation.derivative(2)(z)

    def mean(terms: Array) -> Array:
        return jnp.sum(weights * terms, axis=-1)

    def variance(g: Array) -> Array:
        return mean((value**2 - g[..., None]) ** 2)  # centred first: no digits cancel at small K

    averages = from_means(mean, variance, K, z, value, slope, bend)
    if not activation.kinks:
        return averages
    c = jnp.asarray(activation.kinks, dtype=K.dtype)
    return with_kinks(averages, K[..., None], c, *one_sided(activation, 0, c), *one_sided(activation, 1, c))


def from_means(
    mean: Callable[[Array], Array],
    variance: Callable[[Array], Array],
    K: Array,
    z: Array,
    value: Array,
    slope: Array,
    bend: Array,
) -> SingleInput:
    r"""All averages but for what jumps at kinks add, from averages over $z$ and the variance of $\sigma^2$, given its mean; in JAX
    or in NumPy alike."""
    g, s, radial = mean(value**2), mean(slope**2), mean(z * value * slope)
    ddg = (mean(z**2 * (slope**2 + value * bend)) - radial) / (2 * K**2)
    return SingleInput(g, radial / K, ddg, s, mean(z * slope * bend) / K, variance(g))


def with_kinks(
    at: SingleInput, k: Array, c: Array, value: Array, value_left: Array, slope: Array, slope_left: Array
) -> SingleInput:
    r"""Adds what the jumps at the kinks $c$ add to $g'$, $g''$ and $s'$. With $p = p_K(c)$:

    $$\frac{c\,p}{2K}[\sigma^2]_c,\qquad \frac{c^2p}{2K^2}[\sigma\sigma']_c + \frac{c\,p}{2K}[\sigma^2]_c
      \Big(\frac{c^2}{2K^2}-\frac3{2K}\Big),\qquad \frac{c\,p}{2K}[\sigma'^2]_c$$
    """
    exp = np.exp if isinstance(k, np.ndarray) else jnp.exp
    weight = c * exp(-(c**2) / (2 * k)) / (2 * math.pi * k) ** 0.5 / (2 * k)
    squares, slopes = value**2 - value_left**2, slope**2 - slope_left**2
    products = value * slope - value_left * slope_left
    ddg = weight * (c / k * products + squares * (c**2 / (2 * k**2) - 3 / (2 * k)))
    dg, ds = (weight * squares).sum(axis=-1), (weight * slopes).sum(axis=-1)
    return at._replace(dg=at.dg + dg, ddg=at.ddg + ddg.sum(axis=-1), ds=at.ds + ds)


def _by_summation(activation: ExponentialSum, K: Array) -> SingleInput:
    """Closed forms for finite sums of exponentials."""

    def g(k: Array) -> Array:
        return cast(Array, activation.closed_pair(0, 0, k, k, k))

    def s(k: Array) -> Array:
        return cast(Array, activation.closed_pair(1, 1, k, k, k))

    fourth = jnp.vectorize(lambda k: activation.closed_product((0, 0, 0, 0), jnp.full((4, 4), k)))
    dg = differentiate(g)
    return SingleInput(g(K), dg(K), differentiate(dg)(K), s(K), differentiate(s)(K), fourth(K) - g(K) ** 2)
