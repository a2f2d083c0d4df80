r"""Averages of products of kinked functions of three or four variables that are not close to dependent.

Part of every variable is noise of its own: with $\lambda$ the smallest eigenvalue of the correlations, $K = K' + D$ where
$D_{ii} = \lambda K_{ii}$ and $K'$ is not negative. Averaging over that noise first,

$$\Big\langle\prod_i f_i(z_i)\Big\rangle_K = \Big\langle\prod_i\tilde f_i(y_i)\Big\rangle_{K'},\qquad
\tilde f_i(y) = \langle f_i(y + \sqrt{D_{ii}}\,\xi)\rangle,$$

leaves analytic functions, whatever kinks and jumps the $f_i$ have, that vary on the scale $\sqrt{D_{ii}}$: the trapezoid rule
converges as $e^{-\pi^2D/h^2}$ in its step $h$. Two groups of variables are coupled through their canonical correlations, as for smooth
functions (`split`), by the matrix $S$ of `grid`, which is as good for $K'$ that is singular. As many tiles of the grid are used as
$\lambda$ asks for, so that one program serves every covariance.
"""

import functools
import operator
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array, diagonal
from . import piecewise
from .canonical import canonical_variables
from .chebyshev import chebyshev_points, from_series
from .grid import GridRule, joint_weights, points, tiles_of
from .panels import conditional_average
from .places import Places

_REACH = 8.5
_STEP = 0.62  # of the noise's deviation: errors below 1e-9
_SHARE = 0.98  # of the noise that there is
_TILE, _MOST_TILES = 64, 6  # of the grid along an axis; nearly dependent variables need more
_TABLE_NODES = 12
_PANELS_PER_TILE = 16  # of tables, below four of the noise's deviations long

ElementwiseFunction = Callable[[Array], Array]
Product = tuple[ElementwiseFunction, ...]


@functools.partial(jax.jit, static_argnums=(0, 1))
def product_averages(
    products: tuple[Product, ...], places: tuple[Places, ...], K: Float[Array, "n n"]
) -> Float[Array, " products"]:
    r"""$\langle\prod_i f_i(z_i)\rangle_K$ of three or four variables, for several products of functions of the same variables:
    smoothed where their noise allows, else piecewise."""

    # One covariance after the other: mapped over all at once, every one of them would go both ways.
    @jax.custom_batching.sequential_vmap
    def averages(K: Float[Array, "n n"]) -> Float[Array, " products"]:
        deviations = jnp.sqrt(diagonal(K))
        positive = jnp.where(deviations > 0, deviations, 1.0)
        noise = _SHARE * jnp.linalg.eigvalsh(K / jnp.outer(positive, positive))[0]
        tiles = tiles_for(noise)
        return jax.lax.cond(
            tiles <= _MOST_TILES,
            lambda K: _smoothed(products, places, K, noise, jnp.minimum(tiles, _MOST_TILES)),
            lambda K: piecewise.product_averages(products, places, K),
            K,
        )

    return averages(K)


def tiles_for(noise: Array) -> Array:
    """How many tiles resolve functions smoothed by noise of this variance, beside variables of variance one; or a few too many."""
    nodes = 2 * _REACH / (_STEP * jnp.sqrt(jnp.maximum(noise, 1e-6)))
    return jnp.ceil(nodes / _TILE).astype(int)


def _smoothed(
    products: Sequence[Product], places: Sequence[Places], K: Float[Array, "n n"], noise: Array, tiles: Array
) -> Float[Array, " products"]:
    """On a grid of so many tiles; `noise` is the part of each variance that is averaged over first."""
    variances = diagonal(K)
    half = (len(K) + 1) // 2
    left, r, right = canonical_variables(K - jnp.diag(noise * variances), half)
    rule = _rule(tiles)
    series = _all_series(products, places, jnp.sqrt(variances), noise, tiles)
    lefts, rights = ({product[side]: None for product in products} for side in (slice(half), slice(half, None)))
    F = _on_grid(lefts, series[:half], left, rule)
    G = _on_grid(rights, series[half:], right, rule)
    first, *second = (_filled(joint_weights(each, rule), rule) for each in r)
    if second:
        F, G = _times(F, second[0], rule), _times(jnp.swapaxes(G, 1, 2), first.T, rule)
        table = jnp.einsum("lpq,rqp->lr", F, G)
    else:  # what the other group does not see averages out
        table = (F @ rule.weights) @ first @ G.T
    places_in_table = [(list(lefts).index(p[:half]), list(rights).index(p[half:])) for p in products]
    return table[tuple(np.transpose(places_in_table))]


def _rule(tiles: Array) -> GridRule:
    """Points for so many tiles."""
    count, index = tiles * _TILE, jnp.arange(_TILE * _MOST_TILES)
    step = 2 * _REACH / (count - 1)
    u = step * jnp.minimum(index, count - 1) - _REACH
    weights = step * jnp.exp(-(u**2) / 2) / np.sqrt(2 * np.pi)
    return GridRule(u, jnp.where(index < count, weights, 0.0), tiles, _TILE)


Series = tuple[Float[Array, " coefficients panels"], Array, Array]
"""Chebyshev coefficients on equal panels, where the first of them begins, and their length."""


def _all_series(
    products: Sequence[Product], places: Sequence[Places], deviations: Float[Array, " n"], noise: Array, tiles: Array
) -> list[dict[ElementwiseFunction, Series]]:
    """For each variable its functions, averaged over the noise."""
    found: list[dict[ElementwiseFunction, Series]] = [{} for _ in deviations]
    reach = np.sqrt(2) * _REACH * deviations
    length = 2 * reach / (tiles * _PANELS_PER_TILE)
    nodes, transform = chebyshev_points()
    # The same function of several variables is tabulated for all of them at once.
    uses = {(product[i], places[i]): None for product in products for i in range(len(deviations))}
    for function, around in uses:
        who = [i for i in range(len(places)) if places[i] == around and any(p[i] == function for p in products)]
        of, starts, lengths = (each[np.array(who)][:, None, None] for each in (deviations, -reach, length))

        def add(tile: Array, coefficients: Array, f: ElementwiseFunction = function, near: Places = around) -> Array:
            panel = tile * _PANELS_PER_TILE + jnp.arange(_PANELS_PER_TILE)[:, None]
            y = starts + lengths * (panel + (1 + nodes) / 2)  # noqa: B023
            values = conditional_average(f, near.at_hand(), y, jnp.sqrt(noise) * of, _TABLE_NODES)  # noqa: B023
            new = jnp.moveaxis(values @ transform, 1, 2)
            return jax.lax.dynamic_update_slice(coefficients, new, (0, 0, tile * _PANELS_PER_TILE))

        room = jnp.zeros((len(who), len(nodes), _PANELS_PER_TILE * _MOST_TILES), deviations.dtype)
        coefficients = jax.lax.fori_loop(0, tiles, add, room)
        for place, i in enumerate(who):
            found[i][function] = coefficients[place], -reach[i], length[i]
    return found


def _on_grid(
    products: Sequence[Product] | dict[Product, None],
    series: Sequence[dict[ElementwiseFunction, Series]],
    root: Float[Array, "m m"],
    rule: GridRule,
) -> Float[Array, "products ..."]:
    r"""Each $\prod_i\tilde f_i(y_i)$, $y = Ru$, on the grid of one or two variables $u$; zero where it is not in use."""

    def values(*tiles: Array) -> Array:
        axes = jnp.meshgrid(*(points(rule, tile)[0] for tile in tiles), indexing="ij")
        variables = jnp.tensordot(root, jnp.stack(axes), axes=(1, 0))
        known = [{f: from_series(*s, y) for f, s in of.items()} for of, y in zip(series, variables, strict=True)]
        return jnp.stack([functools.reduce(operator.mul, map(dict.__getitem__, known, each)) for each in products])

    return _filled(values, rule, len(root), (len(products),))


def _filled(
    values: Callable[..., Array], rule: GridRule, axes: int = 2, batch: tuple[int, ...] = ()
) -> Float[Array, "..."]:
    """What `values` says of each tile of a grid that is in use, after the axes of the `batch`; zero elsewhere."""

    def add(step: Array, total: Array) -> Array:
        tiles = tiles_of(step, axes, rule)
        return jax.lax.dynamic_update_slice(total, values(*tiles), (0,) * len(batch) + tuple(_TILE * t for t in tiles))

    return jax.lax.fori_loop(0, rule.tiles**axes, add, jnp.zeros(batch + (len(rule.u),) * axes, rule.u.dtype))


def _times(F: Float[Array, "l q q"], S: Float[Array, "q q"], rule: GridRule) -> Float[Array, "l q q"]:
    """The product of matrices, over the tiles that are in use."""

    def tile(p: Array, q: Array) -> Array:
        def add(s: Array, total: Array) -> Array:
            block = jax.lax.dynamic_slice(F, (0, p * _TILE, s * _TILE), (len(F), _TILE, _TILE))
            return total + block @ jax.lax.dynamic_slice(S, (s * _TILE, q * _TILE), (_TILE, _TILE))

        return jax.lax.fori_loop(0, rule.tiles, add, jnp.zeros((len(F), _TILE, _TILE), F.dtype))

    return _filled(tile, rule, batch=(len(F),))
