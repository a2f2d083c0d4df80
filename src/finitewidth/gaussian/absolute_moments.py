r"""Averages of products of absolute values and of the variables themselves, $\langle\prod_i|z_i|\prod_j z_j\rangle_K$.

One absolute value is taken out at a time. With $k$ the covariances of $z_1$ with the others and any function $G$ of them,
$$\langle|z_1|\,G\rangle_K = \sqrt{\tfrac{2K_{11}}\pi}\Big[g(0) + \int_0^1\frac{dt}{t^2}\,\big(g(0)-g(t)\big)\Big],\qquad
g(t) = \langle G\rangle_{K - t^2kk^T/K_{11}},$$
which follows from $\partial_t^2\langle|z_1|G\rangle$ when $k$ is multiplied by $t$. Pairs and triples are known in closed form.

First derivatives are taken in the covariance (Stein's lemma), where they are finite up to and including singular $K$.
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .gram_vectors import gram_vectors
from .triangular import (
    NODES_AT_ONCE,
    Frame,
    Rows,
    Rule,
    Triple,
    hyperbolic_rule,
    inverse,
    lengths,
    rows_of,
    shrunk,
    triple,
    triple_angles,
    weighted_sum,
)
from .wick import wick_sum


def _taking_out_rule(step: float, nodes: int) -> Rule:
    """Factors that shrink the first axis, and the weights of g there, g(0) first."""
    shrink, weights = hyperbolic_rule(step, nodes - 1)
    weights[-1] += 1 - weights.sum()  # beyond the last node g hardly changes
    over_t2 = weights / (1 - shrink**2)
    return np.array([1.0, *shrink]), np.array([1 + over_t2.sum(), *-over_t2])


# Four variables: 1e-12, and the range that derivatives at singular covariances need. More variables: 1e-9.
_FINE = _taking_out_rule(step=0.26, nodes=9 * NODES_AT_ONCE)
_COARSE = _taking_out_rule(step=0.27, nodes=4 * NODES_AT_ONCE)


def _root(variance: Array) -> Array:
    """The square root, zero when rounding has left less than nothing."""
    positive = variance > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, variance, 1.0)), 0.0)


def _take_out(
    K: Float[Array, "n n"], rule: Rule, frame: Callable[[Array], Frame], average: Callable[[Array, Frame], Array]
) -> Array:
    r"""$\langle|z_1|G\rangle$ from `average(C, frame(shrink))`, the average of $G$ under the covariance $C$ of the others."""
    k = K[1:, 0]
    along = k[:, None] * k[None, :] * inverse(K[0, 0])
    total = weighted_sum(rule, frame, lambda s, vectors: average(K[1:, 1:] - (1 - s * s) * along, vectors), K.dtype)
    return math.sqrt(2 / math.pi) * _root(K[0, 0]) * total


@jax.custom_jvp
def absolute_triple(K: Float[Array, "3 3 *batch"], vectors: Triple) -> Array:
    r"""$\langle|z_1z_2z_3|\rangle = (\tfrac2\pi)^{3/2}\big[\sqrt{|K|} + \sum_b(K_{jk}\sqrt{K_{bb}} + K_{bj}K_{bk}/\sqrt{K_{bb}})
    \,\omega_b\big]$ (Nabeya), with $\omega_b$ of `triple_angles`. `vectors` are those of `K`."""
    norms, angles = lengths(vectors.rows), triple_angles(vectors)
    opposite, volume = _covariances_and_volume(vectors)
    total = volume
    for i in range(3):
        total = total + (opposite[i] * norms[i] + opposite[i - 1] * opposite[i - 2] * inverse(norms[i])) * angles[i]
    return (2 / math.pi) ** 1.5 * total


def _covariances_and_volume(vectors: Triple) -> tuple[list[Array], Array]:
    r"""$K_{23}, K_{13}, K_{12}$ and $\sqrt{|K|}$."""
    (a,), (b, c), (x, y, z) = vectors.rows
    return [b * x + c * y, a * x, a * b], a * c * z


@absolute_triple.defjvp
def _triple_jvp(primals: tuple[Array, Triple], tangents: tuple[Array, Triple]) -> tuple[Array, Array]:
    """The angles need not be differentiated: their variations and that of the determinant add up to the last term."""
    (K, vectors), (dK, _) = primals, tangents
    norms, angles = lengths(vectors.rows), triple_angles(vectors)
    opposite, volume = _covariances_and_volume(vectors)
    d_opposite = [dK[1, 2], dK[0, 2], dK[0, 1]]
    total = jnp.zeros_like(volume)
    for i in range(3):
        j, k, over = i - 1, i - 2, inverse(norms[i])
        mixed = (opposite[j] * d_opposite[k] + opposite[k] * d_opposite[j]) * over
        own = (opposite[i] - opposite[j] * opposite[k] * over**2) * over * dK[i, i] / 2
        total = total + (d_opposite[i] * norms[i] + mixed + own) * angles[i] + volume * over**2 * dK[i, i] / 2
    return absolute_triple(K, vectors), (2 / math.pi) ** 1.5 * total


@jax.custom_jvp
def _pair(K: Float[Array, "n n"]) -> Array:
    r"""$\langle|z_1z_2|\rangle = \tfrac2\pi[\Delta + K_{12}\,\omega]$, PDLT (5.159), and with two more variables
    $\langle|z_1z_2|z_3z_4\rangle = K_{34}\langle|z_1z_2|\rangle + \tfrac2\pi\big[(K_{13}K_{24}+K_{14}K_{23})\,\omega
    + (K_{13}K_{14}/K_{11} + K_{23}K_{24}/K_{22})\,\Delta\big]$; $\omega = \arcsin\rho_{12}$, $\Delta^2 = K_{11}K_{22} - K_{12}^2$.
    """
    delta = _root(K[0, 0] * K[1, 1] - K[0, 1] ** 2)
    angle = jnp.arctan2(K[0, 1], delta)
    bare = 2 / math.pi * (delta + K[0, 1] * angle)
    if len(K) == 2:
        return bare
    crossed, parallel = _linear_parts(K)
    return K[2, 3] * bare + 2 / math.pi * (crossed * angle + parallel * delta)


def _linear_parts(K: Float[Array, "4 4"]) -> tuple[Array, Array]:
    crossed = K[0, 2] * K[1, 3] + K[0, 3] * K[1, 2]
    parallel = K[0, 2] * K[0, 3] * inverse(K[0, 0]) + K[1, 2] * K[1, 3] * inverse(K[1, 1])
    return crossed, parallel


@_pair.defjvp
def _pair_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    r"""With $d\Delta = \tfrac12\Delta\,d\log K_{11}K_{22} - K_{12}\,d\omega$; what multiplies $d\omega$ vanishes as $\Delta^2$."""
    (K,), (dK,) = primals, tangents
    delta = _root(K[0, 0] * K[1, 1] - K[0, 1] ** 2)
    angle = jnp.arctan2(K[0, 1], delta)
    d_log = dK[0, 0] * inverse(K[0, 0]) + dK[1, 1] * inverse(K[1, 1])
    bare, d_bare = delta + K[0, 1] * angle, dK[0, 1] * angle + delta * d_log / 2
    value = _pair(K)
    if len(K) == 2:
        return value, 2 / math.pi * d_bare
    (_, parallel), (d_crossed, d_parallel) = jax.jvp(_linear_parts, (K,), (dK,))
    over_1, over_2 = inverse(_root(K[0, 0])), inverse(_root(K[1, 1]))
    cosine, sine = K[0, 1] * over_1 * over_2, delta * over_1 * over_2
    along_3, along_4 = K[0, 2] * over_1, K[0, 3] * over_1
    across_3, across_4 = K[1, 2] * over_2 - cosine * along_3, K[1, 3] * over_2 - cosine * along_4
    lever = cosine * (sine * along_3 * along_4 - across_3 * across_4 * inverse(sine))
    lever = lever + sine * (along_3 * across_4 + across_3 * along_4)
    d_covariance = dK[0, 1] - K[0, 1] * d_log / 2
    d_linear = d_crossed * angle + (d_parallel + parallel * d_log / 2) * delta + lever * d_covariance
    return value, 2 / math.pi * (dK[2, 3] * bare + K[2, 3] * d_bare + d_linear)


def _all_absolute(K: Float[Array, "n n"], rows: Rows, rule: Rule) -> Array:
    if len(K) == 4:
        return _take_out(K, rule, lambda shrink: triple(shrunk(rows, shrink)), absolute_triple)
    return _take_out(K, rule, lambda shrink: shrunk(rows, shrink), lambda C, rest: _all_absolute(C, rest, rule))


def _mixed(K: Float[Array, "n n"], absolute: int, rule: Rule) -> Array:
    if absolute == 0:
        return jnp.asarray(wick_sum(K, range(len(K))), K.dtype)
    if absolute == 2 and len(K) <= 4:
        return _pair(K)
    return _take_out(K, rule, lambda _: None, lambda C, _: _mixed(C, absolute - 1, rule))


def absolute_moment(K: Float[Array, "n n"], absolute: int) -> Array:
    r"""$\langle\prod_{i<m}|z_i|\prod_{i\ge m}z_i\rangle_K$ with $m$ = `absolute`, for an even number of bare factors."""
    rule = _FINE if len(K) <= 4 else _COARSE
    if absolute == len(K) >= 4:
        return _all_absolute(K, rows_of(gram_vectors(K)), rule)
    return _mixed(K, absolute, rule)
