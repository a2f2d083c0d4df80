r"""Averages of products of kinked functions of three or four jointly Gaussian variables, one variable at a time.

The variables are ordered by pivoted Cholesky, $z_k = \sum_{l\le k} L_{kl}u_l$, and averaged over from the last to the
first. The average over the last depends on its conditional mean alone: it is tabulated once for all. What is left as a
function of $u_k$ changes character where

* $z_k$ meets a kink of its own function;
* the conditional mean of a later $z_i$ meets a kink: a layer of width $|L_{i,>k}|/|L_{ik}|$;
* two later kinks coincide, $z_i = t_i$ and $z_j = t_j$, if these planes are nearly parallel in the variables averaged
  over: the layer of the combination $z_j - \alpha z_i$ that depends least on those.

Panels end at all these places, so nearly or exactly singular covariances cost no accuracy.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float, Int

from .._arrays import Array, diagonal
from .chebyshev import Table, tabulate
from .panels import (
    LAYER,
    beside,
    conditional_average,
    distance,
    normal_rule,
    panel_ends,
    ratio,
    root,
    rungs,
)
from .places import PAIR_NODES, REACH, Places

_NODES = 10


class _Planes(NamedTuple):
    r"""Parallel planes $\sum_l$ `row`$_l\,u_l =$ `offsets` across which an integrand has kinks."""

    row: Float[Array, " n"]
    offsets: Float[Array, " t"]

    def crossing(self, k: int, u: Float[Array, "*batch k"]) -> Float[Array, "*batch t"]:
        """Where they meet the line along coordinate k, given those before and the mean, zero, of those after."""
        return ratio(self.offsets - (u @ self.row[:k])[..., None], self.row[k])

    def layer(self, k: int) -> Array:
        """How far from the crossing the average over the coordinates after k has smoothed the kink."""
        return distance(LAYER * jnp.linalg.norm(self.row[k + 1 :]), self.row[k])

    def coinciding(self, other: "_Planes", k: int) -> "_Planes":
        """The planes through the intersections with `other` that depend least on the coordinates after k."""
        mine, theirs = self.row[k + 1 :], other.row[k + 1 :]
        alpha = ratio(mine @ theirs, theirs @ theirs)
        return _Planes(self.row - alpha * other.row, (self.offsets[:, None] - alpha * other.offsets).ravel())


def _pivoted_cholesky(K: Float[Array, "n n"]) -> tuple[Float[Array, "n n"], Int[Array, " n"]]:
    """Lower triangular L and an order of the variables in which K = L L^T, largest conditional variance first."""
    L, order, index = jnp.zeros_like(K), jnp.arange(len(K)), jnp.arange(len(K))
    for k in range(len(K)):
        pivot = k + jnp.argmax(diagonal(K)[k:])
        swap = index.at[k].set(pivot).at[pivot].set(k)
        K, L, order = K[swap][:, swap], L[swap], order[swap]
        deviation = root(K[k, k])
        column = jnp.where(index > k, ratio(K[:, k], deviation), 0.0).at[k].set(deviation)
        L, K = L.at[:, k].set(column), K - jnp.outer(column, column)
    return L, order


def _panel_points(
    own: _Planes, later: Sequence[_Planes], k: int, u: Float[Array, "*batch k"], places: Places, central: bool
) -> list[Array]:
    """Where the integrand changes along coordinate k, given the coordinates before."""
    crossing = own.crossing(k, u)
    points = [crossing, beside(crossing, *rungs(own.row[k], places))]
    coincidences = [second.coinciding(first, k) for first, second in itertools.combinations(later, 2)]
    points += [beside(planes.crossing(k, u), planes.layer(k)) for planes in (*later, *coincidences)]
    if central and k == 0:
        return points  # all planes pass through zero, where a panel ends already
    points += [planes.crossing(k, u) for planes in (*later, *coincidences)]
    return points + [beside(planes.crossing(k, u), rungs(planes.row[k], places)[0]) for planes in later]


def _tabulated_average(function: Callable[[Array], Array], planes: _Planes, places: Places) -> Table:
    """The average over the last coordinate as a function of the conditional mean of the last variable."""
    deviation = planes.row[-1]
    reach = REACH * jnp.sum(jnp.abs(planes.row[:-1]))
    between = (places.scale * (reach / places.scale) ** (step / places.rungs) for step in range(1, places.rungs))
    scales = (jnp.asarray(places.scale), *between, LAYER * deviation)
    ends = panel_ends([planes.offsets, beside(planes.offsets, *scales)], reach)
    around = places.at(planes.offsets)
    return tabulate(lambda mean: conditional_average(function, around, mean, deviation, PAIR_NODES), ends)


def average_product(
    value: Callable[[Array, Array], Array],
    points: Float[Array, "n t"],
    places: Places,
    K: Float[Array, "n n"],
    central: bool,
) -> Float[Array, ""]:
    r"""$\langle\prod_i f_i(z_i)\rangle_K$ for $n = 3, 4$; `value(i, z)` is $f_i(z)$ for a traced index $i$.

    The functions vary around their `points` on the scale of `places`. `central` says that all points are zero, which spares
    panels of zero width.
    """
    L, order = _pivoted_cholesky(K)
    *planes, last = (_Planes(row, offsets) for row, offsets in zip(L, points[order], strict=True))
    last_average = _tabulated_average(lambda z: value(order[-1], z), last, places)

    def average_from(k: int, u: Float[Array, "*batch k"]) -> Float[Array, "*batch"]:
        """The average over coordinate k and all after it, given those before."""

        def weigh(x: Array, weights: Array) -> Array:
            return weights * value(order[k], (u @ L[k, :k])[..., None, None] + L[k, k] * x)

        if k == len(planes) - 1:
            mean = (u @ last.row[:k])[..., None]
            into_table = ratio(last_average.ends[1:-1] - mean, last.row[k])
            x, weights = normal_rule([*_panel_points(planes[k], [], k, u, places, central), into_table], _NODES)
            rest = last_average(mean[..., None] + last.row[k] * x)
            return jnp.sum(weigh(x, weights) * rest, axis=(-2, -1))
        x, weights = normal_rule(_panel_points(planes[k], [*planes[k + 1 :], last], k, u, places, central), _NODES)
        outer = jnp.broadcast_to(u[..., None, None, :], (*x.shape, k))
        following = jnp.concatenate([outer, x[..., None]], axis=-1)
        if len(planes) == 3 and k == 0:  # one slice at a time: memory stays small, also when differentiated
            slices = jax.lax.map(jax.checkpoint(lambda u: average_from(1, u)), following.reshape(-1, 1))
            rest = slices.reshape(x.shape)
        else:
            rest = average_from(k + 1, following)
        return jnp.sum(weigh(x, weights) * rest, axis=(-2, -1))

    return average_from(0, jnp.zeros(0, K.dtype))
