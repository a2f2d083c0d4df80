r"""Averages of products of kinked functions of three or four jointly Gaussian variables, one variable at a time.

The variables are ordered by pivoted Cholesky, $z_k = \sum_{l\le k} L_{kl}u_l$, and integrated from the last to the first.
The integral over the last depends on its conditional mean alone, so it is computed once and tabulated
(`chebyshev.Table`). What remains as a function of $u_k$ has kinks where $z_k$ meets its own, and layers of width
$|L_{i,>k}|/|L_{ik}|$ where the conditional mean of a later $z_i$ meets a kink of $f_i$; and where two later planes
$z_i = t_i$, $z_j = t_j$ are nearly parallel in the variables already integrated, a layer where they meet: it is that of
the combination $z_j - \alpha z_i$ least dependent on those variables. Panels end at all these places.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .chebyshev import Table, tabulate
from .panels import (
    LAYER,
    OWN_SCALE,
    REACH,
    beside,
    conditional_average,
    distance,
    normal_rule,
    panel_ends,
    ratio,
    root,
    rungs,
)

_NODES = 10
_TABLE_NODES = 20


class _Planes(NamedTuple):
    """Parallel planes $\\sum_l$ `row`$_l u_l =$ `offsets`, on which a product of functions has kinks."""

    row: Float[Array, " n"]
    offsets: Float[Array, " t"]

    def crossing(self, k: int, u: Float[Array, "*batch k"]) -> Float[Array, "*batch t"]:
        """Where they meet the line along $u_k$, given the outer variables and zero for the inner ones."""
        return ratio(self.offsets - (u @ self.row[:k])[..., None], self.row[k])

    def layer(self, k: int) -> Array:
        """Half the extent along $u_k$ of the layer left by averaging over the inner variables."""
        return distance(LAYER * jnp.linalg.norm(self.row[k + 1 :]), self.row[k])

    def without(self, other: "_Planes", k: int) -> "_Planes":
        """The planes through the intersections with `other` that depend least on the variables after $u_k$."""
        mine, theirs = self.row[k + 1 :], other.row[k + 1 :]
        alpha = ratio(mine @ theirs, theirs @ theirs)
        offsets = self.offsets[:, None] - alpha * other.offsets
        return _Planes(self.row - alpha * other.row, offsets.ravel())


def pivoted_cholesky(K: Float[Array, "n n"]) -> tuple[Float[Array, "n n"], Float[Array, " n"]]:
    """Lower triangular $L$ and the order of the variables in which $K = L L^T$; the largest conditional variance first."""
    n = len(K)
    L, order, index = jnp.zeros_like(K), jnp.arange(n), jnp.arange(n)
    for k in range(n):
        pivot = k + jnp.argmax(jnp.diagonal(K)[k:])
        swap = index.at[k].set(pivot).at[pivot].set(k)
        K, L, order = K[swap][:, swap], L[swap], order[swap]
        diagonal = root(K[k, k])
        column = jnp.where(index > k, ratio(K[:, k], diagonal), 0.0).at[k].set(diagonal)
        L, K = L.at[:, k].set(column), K - jnp.outer(column, column)
    return L, order


def _places(planes: Sequence[_Planes], k: int, u: Array, central: bool) -> list[Array]:
    """Panel ends along $u_k$: around own kinks, around later conditional means, and where two of these coincide."""
    own, *later = planes[k:]
    crossing = own.crossing(k, u)
    points = [crossing, *beside(crossing, *rungs(own.row[k]))]
    coincidences = [second.without(first, k) for first, second in itertools.combinations(later, 2)]
    for plane in (*later, *coincidences):
        points += beside(plane.crossing(k, u), plane.layer(k))
    if central and k == 0:
        return points  # all planes pass through zero, where a panel ends already
    points += [plane.crossing(k, u) for plane in (*later, *coincidences)]
    return points + [point for plane in later for point in beside(plane.crossing(k, u), rungs(plane.row[k])[0])]


def _last_average(function: Callable[[Array], Array], planes: _Planes) -> Table:
    """The average over the last variable as a function of its conditional mean."""
    *slopes, deviation = planes.row
    reach = REACH * sum(abs(slope) for slope in slopes)
    scales = jnp.stack([jnp.asarray(OWN_SCALE), jnp.sqrt(OWN_SCALE * reach), LAYER * deviation])
    ends = panel_ends([planes.offsets, *beside(planes.offsets, *scales)], reach)
    return tabulate(lambda mean: conditional_average(function, planes.offsets, mean, deviation, _TABLE_NODES), ends)


def average_product(
    value: Callable[[Array, Array], Array], kinks: Float[Array, "n t"], K: Float[Array, "n n"], central: bool
) -> Array:
    r"""$\langle\prod_i f_i(z_i)\rangle_K$ for $n = 3, 4$; `value(i, z)` is $f_i(z)$ for a traced index $i$.

    `central` says that all kinks are at zero, which saves panels of zero width.
    """
    L, order = pivoted_cholesky(K)
    planes = [_Planes(row, offsets) for row, offsets in zip(L, kinks[order], strict=True)]
    last = len(planes) - 1
    last_average = _last_average(lambda z: value(order[last], z), planes[last])

    def average_from(k: int, u: Float[Array, "*batch k"]) -> Float[Array, "*batch"]:
        """The average over all variables from number k on, given the ones before."""
        innermost = k == last - 1
        points = _places(planes[:last] if innermost else planes, k, u, central)
        if innermost:
            mean = (u @ L[last, :k])[..., None]
            points.append(ratio(last_average.ends[1:-1] - mean, L[last, k]))
        x, weights = normal_rule(points, _NODES)
        weighted = weights * value(order[k], (u @ L[k, :k])[..., None, None] + L[k, k] * x)
        if innermost:
            rest = last_average(mean[..., None] + L[last, k] * x)
        elif k == 0 and last == 3:  # one slice at a time: memory stays small, also when differentiated
            rest = jax.lax.map(jax.checkpoint(lambda first: average_from(1, first[None])), x.ravel()).reshape(x.shape)
        else:
            outer = jnp.broadcast_to(u[..., None, None, :], (*x.shape, k))
            rest = average_from(k + 1, jnp.concatenate([outer, x[..., None]], axis=-1))
        return jnp.sum(weighted * rest, axis=(-2, -1))

    return average_from(0, jnp.zeros(0, K.dtype))
