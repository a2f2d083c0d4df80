r"""Averages of products over two groups of variables, coupled through their canonical correlations.

With $z_A = R_A u$, $z_B = R_B v$ rotated so that $\langle u v^T\rangle$ is diagonal with canonical correlations $r$, each component of
$u$ is coupled to one of $v$, by the matrix $S$ of `grid`: four-point averages cost two-dimensional grids, six-point averages
three-dimensional ones, and nothing inverts $K$. The first axis is smoothed on the side of $G$ and the others on that of $F$, tile by
tile of the grid:

$$\langle F(z_A)\,G(z_B)\rangle = \sum_{p_1 q_2 q_3\dots}\Big[\sum_{p_2p_3\dots}F_{p_1p_2\dots}S_{p_2q_2}S_{p_3q_3}\cdots\Big]
  \Big[\sum_{q_1}S_{p_1q_1}G_{q_1q_2\dots}\Big] .$$
"""

import functools
import operator
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from .canonical import canonical_variables
from .derivatives import with_derivatives
from .function import Function
from .grid import GridRule, joint_weights, points, tiles_of

Factors = tuple[tuple[Function, int], ...]
"""One function for each variable, and the order of the derivative of it that is meant."""


def split_averages(
    left: Sequence[Factors], right: Sequence[Factors], K: Float[Array, "n n"], rule: GridRule
) -> Float[Array, "left right"]:
    r"""$\langle F\,G\rangle_K$ of each $F = \prod f_i(z_i)$ over the first variables with each $G$ over the rest, of which there are as
    many or one less."""
    m, k = len(left[0]), len(right[0])
    root_left, r, root_right = canonical_variables(K, m)
    shape, smoothing = (rule.tile,) * k, [joint_weights(each, rule) for each in r]

    def add(step: Array, total: Array) -> Array:
        p, *q = tiles_of(step, k, rule)  # the first of F, the others of G

        def add_left(step: Array, total: Array) -> Array:
            others = tiles_of(step, m - 1, rule)
            F = _on_tiles(left, root_left, [p, *others], rule)
            for axis, tile in enumerate(others, start=1):  # each pass smooths the axis after the first and puts it last
                if axis < k:
                    F = jnp.tensordot(F, smoothing[axis](tile, q[axis - 1]), axes=(2, 0))
                else:  # a direction that the other group does not see averages out
                    F = jnp.tensordot(F, points(rule, tile)[1], axes=(2, 0))
            return total + F

        def add_right(tile: Array, total: Array) -> Array:
            G = _on_tiles(right, root_right, [tile, *q], rule)
            return total + jnp.moveaxis(jnp.tensordot(smoothing[0](p, tile), G, axes=(1, 1)), 0, 1)

        if m == 1:
            F = _on_tiles(left, root_left, [p], rule)
        else:
            F = jax.lax.fori_loop(0, rule.tiles ** (m - 1), add_left, jnp.zeros((len(left), *shape), K.dtype))
        G = jax.lax.fori_loop(0, rule.tiles, add_right, jnp.zeros((len(right), *shape), K.dtype))
        return total + F.reshape(len(F), -1) @ G.reshape(len(G), -1).T

    return jax.lax.fori_loop(0, rule.tiles**k, add, jnp.zeros((len(left), len(right)), K.dtype))


def _on_tiles(
    products: Sequence[Factors], root: Float[Array, "m m"], tiles: Sequence[Array], rule: GridRule
) -> Float[Array, "products ..."]:
    r"""Each $\prod_i f_i(z_i)$, $z = Ru$, on a tile of the grid of the $m$ variables $u$."""
    axes = jnp.stack(jnp.meshgrid(*(points(rule, tile)[0] for tile in tiles), indexing="ij"))
    known = []
    for z, factors in zip(jnp.tensordot(root, axes, axes=(1, 0)), zip(*products, strict=True), strict=True):
        highest = {function: max(order for f, order in factors if f == function) for function, _ in factors}
        known.append({function: with_derivatives(function, order)(z) for function, order in highest.items()})

    def product(factors: Factors) -> Array:
        return functools.reduce(operator.mul, (of[f][order] for of, (f, order) in zip(known, factors, strict=True)))

    return jnp.stack([product(factors) for factors in products])
