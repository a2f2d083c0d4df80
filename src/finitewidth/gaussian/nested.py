r"""Averages of products of kinked functions of three or four jointly Gaussian variables, one variable at a time.

The variables are ordered by pivoted Cholesky, $z_k = \sum_{l\le k} L_{kl}u_l$, and averaged over from the last to the
first. The average over the last depends on its conditional mean alone: it is tabulated once for all. What is left as a
function of $u_k$ changes character where

* $z_k$ meets a kink of its own function;
* the conditional mean of a later $z_i$ meets a kink: a layer of width $|L_{i,>k}|/|L_{ik}|$;
* two later kinks coincide, $z_i = t_i$ and $z_j = t_j$, if these planes are nearly parallel in the variables averaged
  over: the layer of the combination $z_j - \alpha z_i$ that depends least on those.

Panels end at all these places that are not smoothed away, so nearly or exactly singular covariances cost no accuracy.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float, Int

from .._arrays import Array, diagonal
from .chebyshev import Table, tabulate
from .panels import (
    LAYER,
    Centres,
    beside,
    conditional_average,
    distance,
    few_panels,
    graded,
    normal_average,
    panel_ends,
    ratio,
    root,
    rungs,
)
from .places import PAIR_NODES, REACH, Places

NODES = 12


class Planes(NamedTuple):
    r"""Parallel planes $\sum_l$ `row`$_l\,u_l =$ `offsets` across which an integrand has kinks."""

    row: Float[Array, " n"]
    offsets: Float[Array, " t"]

    def crossing(self, k: int, u: Float[Array, "*batch k"]) -> Float[Array, "*batch t"]:
        """Where they meet the line along coordinate k, given those before and the mean, zero, of those after."""
        return ratio(self.offsets - (u @ self.row[:k])[..., None], self.row[k])

    def layer(self, k: int) -> Array:
        """How far from the crossing the average over the coordinates after k has smoothed the kink."""
        return distance(LAYER * jnp.linalg.norm(self.row[k + 1 :]), self.row[k])

    def coinciding(self, other: "Planes", k: int) -> "Planes":
        """The planes through the intersections with `other` that depend least on the coordinates after k."""
        mine, theirs = self.row[k + 1 :], other.row[k + 1 :]
        alpha = ratio(mine @ theirs, theirs @ theirs)
        return Planes(self.row - alpha * other.row, (self.offsets[:, None] - alpha * other.offsets).ravel())


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


def smoothed_kinks(
    planes: Sequence[Planes], k: int, u: Float[Array, "*batch k"], places: Places
) -> tuple[list[Array], list[Centres]]:
    """Points and centres of panels along coordinate k, given the coordinates before, for kinks that are smoothed by those after."""
    points, centres = [], []
    coincidences = [second.coinciding(first, k) for first, second in itertools.combinations(planes, 2)]
    for number, these in enumerate((*planes, *coincidences)):
        crossing, layer = these.crossing(k, u), these.layer(k)
        # Where two kinks coincide nothing but a layer stands out.
        scale, grading = graded(rungs(these.row[k], places)) if number < len(planes) else (jnp.asarray(2 * REACH), 0.0)
        points += [crossing, beside(crossing, layer, scale)]
        centres.append(Centres(crossing, layer, jnp.maximum(scale, layer), grading))
    return points, centres


def _panels(
    own: Planes, later: Sequence[Planes], k: int, u: Float[Array, "*batch k"], places: Places
) -> tuple[Float[Array, "*batch ends"], Int[Array, ""]]:
    """Panels along coordinate k, given the coordinates before, between the places where the integrand changes."""
    crossing, ladder = own.crossing(k, u), rungs(own.row[k], places)
    points, centres = smoothed_kinks(later, k, u, places)
    own_points, own_centre = [crossing, beside(crossing, *ladder)], Centres(crossing, 0.0, *graded(ladder))
    return few_panels([*own_points, *points], [own_centre, *centres], NODES)


def tabulated_average(function: Callable[[Array], Array], planes: Planes, places: Places) -> Table:
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
) -> Float[Array, ""]:
    r"""$\langle\prod_i f_i(z_i)\rangle_K$ for $n = 3, 4$; `value(i, z)` is $f_i(z)$ for a traced index $i$.

    The functions vary around their `points` on the scale of `places`.
    """
    L, order = _pivoted_cholesky(K)
    *planes, last = (Planes(row, offsets) for row, offsets in zip(L, points[order], strict=True))
    last_average = tabulated_average(lambda z: value(order[-1], z), last, places)

    def average_from(k: int, u: Float[Array, "*batch k"]) -> Float[Array, "*batch"]:
        """The average over coordinate k and all after it, given those before."""
        mean, later = (u @ L[k, :k])[..., None], (u @ last.row[:k])[..., None]

        def integrand(x: Array) -> Array:
            if k == len(planes) - 1:
                rest = last_average(later + last.row[k] * x)
            else:
                outer = jnp.broadcast_to(u[..., None, :], (*x.shape, k))
                rest = average_from(k + 1, jnp.concatenate([outer, x[..., None]], axis=-1))
            return value(order[k], mean + L[k, k] * x) * rest

        return normal_average(_panels(planes[k], [*planes[k + 1 :], last], k, u, places), integrand, NODES)

    return average_from(0, jnp.zeros(0, K.dtype))
