r"""Averages of products of kinked functions of four variables that are close to dependent, or are dependent.

In units of their deviations the variables are $y_i$ and noise of variance $\lambda$, the smallest eigenvalue of their correlations, over
which each function is averaged first, as in `smoothed`: a table of one variable. The rest $y$ is dependent, $\nu\cdot y = 0$. With the
variables in two pairs $A$ and $B$, one coordinate is common to both, $\nu_A\cdot y_A = -\nu_B\cdot y_B\propto p$, and each pair has one of
its own,

$$y_A = c_A\,p + a_A\,s,\qquad y_B = c_B\,p + a_B\,s',\qquad\langle ss'\rangle = \rho\ge0,\qquad
\Big\langle\prod_if_i\Big\rangle = \Big\langle\big\langle F_p(s)\,G_p(s')\big\rangle_\rho\Big\rangle_p .$$

Noise of variance $1-\rho$ is all that sets $s$ and $s'$ apart: $s = \sqrt\rho\,x + \sqrt{1-\rho}\,\xi$, and $s'$ likewise. Averaged over
it, on panels between the kinks of $F_p$ or $G_p$, both become smooth in $x$: the trapezoid rule (`smoothed`). No function is ever evaluated
on more than two dimensions. Without noise, $s = s'$, panels between the kinks of both serve $F_pG_p$.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from .._arrays import Array, diagonal
from .chebyshev import Table
from .nested import NODES, Planes, smoothed_kinks, tabulated_average
from .panels import LAYER, beside, distance, few_panels, legendre, normal_nodes, ratio, root, rungs
from .places import Places

_REACH = 8.5
_NOISE_REACH = 7.5
_LONGEST = 3.0  # panels, in deviations: errors of 1e-12
_STEP = 0.62  # of the noise's deviation: errors below 1e-9
_TILE, _MOST_TILES = 32, 12  # of points along x
_PANELS = 19  # at most, for one tile, unless there are kinks
_AT_ONCE, _TOGETHER = 6, 2  # panels along s, and along p
_ROUNDING = 1e-13  # of a correlation matrix: less is nothing
_BALANCED = 0.02  # of a unit vector's square: in each pair of some split there is more
_SPLITS = np.array([[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 1, 2]])


class Dependent(NamedTuple):
    """The variables, in units of their deviations: `order` names those of A, then those of B."""

    order: Int[Array, " 4"]
    along_p: Float[Array, " 4"]
    along_s: Float[Array, " 4"]
    apart: Float[Array, ""]
    r"""$1-\rho$."""
    noise: Float[Array, ""]
    r"""$\lambda$."""

    @property
    def is_served(self) -> Bool[Array, ""]:
        """Whether noise that sets the pairs apart is enough for a grid, or is none."""
        return (self.apart == 0) | (tiles_for(self.apart) <= _MOST_TILES)


def dependent_part(K: Float[Array, "4 4"]) -> Dependent:
    """The coordinates of the above, in the split into pairs whose own coordinates are farthest apart."""
    deviations = root(diagonal(K))
    C = ratio(K, deviations[:, None] * deviations)
    values, vectors = jnp.linalg.eigh(C)
    noise = jnp.where(values[0] > _ROUNDING, values[0], 0.0)
    C, null = C - noise * jnp.eye(4), vectors[:, 0]
    splits = jax.vmap(functools.partial(_split, C, null, noise))(jnp.asarray(_SPLITS))
    balance = jnp.sum(null[_SPLITS].reshape(3, 2, 2) ** 2, axis=-1).min(axis=-1)
    best = jnp.argmax(jnp.where(balance > _BALANCED, splits.apart, -1.0))
    return jax.tree.map(lambda each: each[best], splits)


def _split(C: Float[Array, "4 4"], null: Float[Array, " 4"], noise: Array, order: Int[Array, " 4"]) -> Dependent:
    C, null = C[order][:, order], null[order]
    p, across = [], []
    for side, sign in ((slice(2), 1.0), (slice(2, 4), -1.0)):
        block, n = C[side, side], sign * null[side]
        variance = n @ block @ n
        c = jnp.where(variance > _ROUNDING, ratio(block @ n, root(variance)), 0.0)
        e = ratio(jnp.stack([n[1], -n[0]]), jnp.linalg.norm(n))
        rest = e @ block @ e - (e @ c) ** 2
        p.append(c)
        across.append((e, root(jnp.where(rest > _ROUNDING, rest, 0.0))))
    (e, length), (other, other_length) = across
    rho = ratio(e @ (C[:2, 2:] - jnp.outer(*p)) @ other, length * other_length)
    # A pair that does not move along its own coordinate may as well move with the other.
    rho = jnp.where(length * other_length > 0, rho, 1.0)
    turned = jnp.where(rho < 0, -other_length, other_length)
    along_s = jnp.concatenate([length * e, turned * other])
    apart = 1 - jnp.abs(rho)
    apart = jnp.where(apart * length * other_length > _ROUNDING, apart, 0.0)
    return Dependent(order, jnp.concatenate(p), along_s, apart, noise)


def tiles_for(apart: Array) -> Array:
    """How many tiles resolve functions averaged over noise of this variance."""
    return jnp.ceil(2 * _REACH / (_STEP * _TILE * jnp.sqrt(jnp.maximum(apart, 1e-12)))).astype(int)


def dependent_averages(
    distinct: tuple[Callable[[Array], Array], ...],
    which: Int[np.ndarray, "products 4"],
    points: Float[Array, "4 t"],
    places: Places,
    K: Float[Array, "4 4"],
    of: Dependent,
) -> Float[Array, " products"]:
    r"""$\langle\prod_if_i(z_i)\rangle_K$ of products of functions, which vary around `points` on the scale of `places`: `which` of those
    that are `distinct` stands where. `of` must be served."""
    deviations = root(diagonal(K))[of.order]
    c, a, noise = (deviations * each for each in (of.along_p, of.along_s, root(of.noise)))
    variables = _Variables(
        c, a, noise, points[of.order], _tabulated(distinct, deviations, noise, points[of.order], places)
    )
    rho, pairs = 1 - of.apart, len(distinct) ** 2
    along = jnp.stack([a, jnp.zeros_like(a)], axis=1).at[2:].set(a[2:, None] * jnp.stack([rho, root(1 - rho**2)]))
    rows = jnp.concatenate([c[:, None], along, jnp.diag(noise)], axis=1)
    planes = [Planes(row, offsets) for row, offsets in zip(rows, variables.points, strict=True)]
    ends, count = few_panels(*smoothed_kinks(planes, 0, jnp.zeros(0, K.dtype), places), NODES)
    sides = jax.tree.map(lambda each: each.reshape(2, 2, *each.shape[1:]), variables)

    def together(p: Array) -> Array:
        """Where s = s'."""

        def add(s: Array, weights: Array) -> Array:
            left, right = (_products(values) for values in variables.values(p, s).reshape(2, 2, -1, *s.shape))
            density = weights * jnp.exp(-(s**2) / 2) / math.sqrt(2 * math.pi)
            return jnp.einsum("lps,rps->plr", left * density, right)

        window = -_REACH, _REACH, _LONGEST
        return _sum_over(_panels(variables, places, p, *map(jnp.asarray, window)), add, (len(p), pairs, pairs))

    def separate(p: Array) -> Array:
        """Where they differ by noise."""
        tiles = tiles_for(of.apart)
        step, deviation = 2 * _REACH / (tiles * _TILE - 1), jnp.sqrt(of.apart)

        def add_tile(tile: Array, total: Array) -> Array:
            x = step * (tile * _TILE + jnp.arange(_TILE)) - _REACH
            mean, weights = jnp.sqrt(rho) * x, step * jnp.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
            low = jnp.maximum(mean[0] - _NOISE_REACH * deviation, -_REACH)
            high = jnp.minimum(mean[-1] + _NOISE_REACH * deviation, _REACH)

            def smoothed(side: _Variables) -> Array:
                def add(s: Array, weights: Array) -> Array:
                    u = (s[..., None] - mean) / deviation
                    density = jnp.exp(-(u**2) / 2) / (math.sqrt(2 * math.pi) * deviation)
                    return jnp.einsum("lps,psx->plx", weights * _products(side.values(p, s)), density)

                panels = _panels(side, places, p, low, high, _LONGEST * deviation)
                return _sum_over(panels, add, (len(p), pairs, _TILE))

            left, right = jax.lax.map(smoothed, sides)
            return total + jnp.einsum("plx,prx->plr", left * weights, right)

        return jax.lax.fori_loop(0, tiles, add_tile, jnp.zeros((len(p), pairs, pairs), K.dtype))

    def add_panels(step: Array, total: Array) -> Array:
        some = jax.lax.dynamic_slice_in_dim(ends, step * _TOGETHER, _TOGETHER + 1)
        p, weights = (each.ravel() for each in normal_nodes(some[:-1, None], some[1:, None], NODES))
        return total + jnp.tensordot(weights, jax.lax.cond(of.apart > 0, separate, together, p), 1)

    ends = jnp.pad(ends, (0, _TOGETHER), mode="edge")
    table = jax.lax.fori_loop(0, -(-count // _TOGETHER), add_panels, jnp.zeros((pairs, pairs), K.dtype))
    chosen = jnp.asarray(which)[:, of.order]
    return table[len(distinct) * chosen[:, 0] + chosen[:, 1], len(distinct) * chosen[:, 2] + chosen[:, 3]]


class _Variables(NamedTuple):
    """Some of the variables $z_i = c_i p + a_i s$ and their noise, the points around which their functions vary, and these functions."""

    c: Float[Array, " v"]
    a: Float[Array, " v"]
    noise: Float[Array, " v"]
    points: Float[Array, "v t"]
    tables: list[Table]
    """Of each function, for all variables."""

    def values(self, p: Float[Array, " p"], s: Float[Array, "p s"]) -> Float[Array, "v functions p s"]:
        """Every function of every variable."""
        z = self.c[:, None, None] * p[:, None] + self.a[:, None, None] * s
        return jnp.stack([jax.vmap(Table.__call__)(table, z) for table in self.tables], axis=1)


def _products(values: Float[Array, "2 functions p s"]) -> Float[Array, "pairs p s"]:
    """Each function of the first variable times each of the second."""
    return (values[0][:, None] * values[1]).reshape(-1, *values.shape[2:])


def _tabulated(
    distinct: Sequence[Callable[[Array], Array]], deviations: Array, noise: Array, points: Array, places: Places
) -> list[Table]:
    """All functions of each variable, averaged over its noise."""

    def of_one(function: Callable[[Array], Array], deviation: Array, noise: Array, points: Array) -> Table:
        return tabulated_average(function, Planes(jnp.stack([math.sqrt(2) * deviation, noise]), points), places)

    return [jax.vmap(functools.partial(of_one, function))(deviations, noise, points) for function in distinct]


def _panels(
    variables: _Variables, places: Places, p: Float[Array, " p"], low: Array, high: Array, longest: Array
) -> tuple[Float[Array, "p ends"], Int[Array, ""]]:
    """Panels along s from `low` to `high`, and how many have any width. Kinks that are smoothed more than on the `longest` of them do
    not count, nor do scales of the functions that are longer."""
    own, ladder = distance(places.scale, variables.a), rungs(variables.a[:, None], places)
    length = jnp.maximum(jnp.minimum(longest, jnp.min(own)), (high - low) / _PANELS)
    crossing = ratio(variables.points - variables.c[:, None] * p[:, None, None], variables.a[:, None])
    smoothed = distance(LAYER * variables.noise, variables.a)[:, None]
    kink = smoothed < length
    points = [
        jnp.broadcast_to(low + length * jnp.arange(1, _PANELS), (len(p), _PANELS - 1)),
        jnp.where(kink, crossing, high).reshape(len(p), -1),
        jnp.where(kink & (smoothed > 0), beside(crossing, smoothed).reshape(len(p), len(kink), -1), high).reshape(
            len(p), -1
        ),
        jnp.where(own[:, None] < length, beside(crossing, *ladder), high).reshape(len(p), -1),
    ]
    inner = jnp.concatenate(points, axis=-1)
    inner = jnp.sort(jnp.where((inner > low) & (inner < high), inner, high), axis=-1)
    room = -(inner.shape[-1] + 1) % _AT_ONCE
    ends = jnp.pad(inner, ((0, 0), (1, 1 + room)), constant_values=high).at[:, 0].set(low)
    return ends, 1 + jnp.max(jnp.sum(inner < high, axis=-1))


def _sum_over(
    panels: tuple[Float[Array, "p ends"], Int[Array, ""]], add: Callable[[Array, Array], Array], shape: tuple[int, ...]
) -> Float[Array, "..."]:
    """The sum of what `add` makes of nodes and weights, a few panels at a time."""
    (ends, count), (x, weights) = panels, legendre(NODES)

    def add_some(step: Array, total: Array) -> Array:
        some = jax.lax.dynamic_slice_in_dim(ends, step * _AT_ONCE, _AT_ONCE + 1, axis=1)
        low, width = some[:, :-1, None], jnp.diff(some, axis=1)[..., None]
        return total + add((low + width * x).reshape(len(ends), -1), (width * weights).reshape(len(ends), -1))

    return jax.lax.fori_loop(0, -(-count // _AT_ONCE), add_some, jnp.zeros(shape, ends.dtype))
