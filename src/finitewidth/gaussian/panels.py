r"""Gauss-Legendre panels for Gaussian integrals whose integrand changes character at known places.

An average over $\xi\sim N(0,1)$ is cut into panels on each of which the integrand is smooth on the scale of the panel
itself; one rule of fixed order on every panel then converges geometrically. A *crossing* is where an affine function
of $\xi$ meets a kink. Panels end there, and at distances from it given by the scales that the integrand may have:

* the function's own scale in its argument (`places`), divided by $|\text{slope}|$ in $\xi$ (`rungs`);
* the width of the layer that is left of a kink by averaging over another variable (`LAYER`).

Of all these points those are left out that an integrand does not need, so that covariances cost what they must under `jit` and
`vmap`, singular ones included. Nodes move with the kinks, so derivatives in forward mode are right too where no deviation vanishes.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .._arrays import Array
from .places import REACH, Places

LAYER = 6.0  # noise of deviation s smooths a kink within 6 s: exp(-6**2 / 2) = 2e-8 of the layer's height is beyond
_BULK = np.array([-6.0, -3.0, 0.0, 3.0, 6.0])  # panel ends that resolve the Gaussian itself
_FAR = 1e3  # stands for any distance beyond REACH
_LONGEST = {12: 3.0, 20: 6.0}  # panels, by their nodes, on which the Gaussian is resolved: errors of 1e-12
_LONGEST_TAIL = 6.0
_ROUNDING = 1e-9
_NO_WIDTH = 1e-13  # points that differ by less are the same, found in two ways


def ratio(numerator: Array, denominator: Array) -> Array:
    """The quotient, and zero (with zero gradient) where the denominator vanishes."""
    defined = jnp.abs(denominator) > jnp.finfo(denominator.dtype).tiny
    return jnp.where(defined, numerator / jnp.where(defined, denominator, 1.0), 0.0)


def root(square: Array) -> Array:
    """The square root, and zero (with zero gradient) where rounding made a variance negative."""
    positive = square > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1.0)), 0.0)


def distance(length: Array | float, slope: Array) -> Array:
    r"""How far $\xi$ must go for an affine function of this slope to change by `length`; far away for slope zero."""
    moving = jnp.abs(slope) * _FAR > length
    return jnp.where(moving, length / jnp.where(moving, jnp.abs(slope), 1.0), _FAR)


def rungs(slope: Array, places: Places) -> tuple[Array, ...]:
    """Distances from a place that resolve the function's own scale and lead, in equal ratios, to the tails."""
    near = jnp.minimum(distance(places.scale, slope), REACH)
    return tuple(near * (REACH / near) ** (step / places.rungs) for step in range(places.rungs))


def graded(ladder: Sequence[Array]) -> tuple[Array, Array]:
    """The first of the `rungs`, and the lengths of panels between them in units of the distance from their place."""
    return ladder[0], (ladder[1] / ladder[0] if len(ladder) > 1 else REACH / ladder[0]) - 1 + _ROUNDING


def beside(crossing: Array, *distances: Array) -> Float[Array, "*batch ends"]:
    """The points at each of the `distances` on either side of every crossing."""
    lengths = jnp.stack(jnp.broadcast_arrays(*(s * length for length in distances for s in (-1.0, 1.0))), axis=-1)
    points = crossing[..., None] + lengths
    return points.reshape(*points.shape[:-2], -1)


def panel_ends(points: Sequence[Array], reach: Array | float) -> Float[Array, "*batch ends"]:
    """All points in order, clipped to [-reach, reach], between the two ends of that interval; batches broadcast."""
    batch = jnp.broadcast_shapes(*(point.shape[:-1] for point in points))
    inner = jnp.concatenate([jnp.broadcast_to(point, (*batch, point.shape[-1])) for point in points], axis=-1)
    end = jnp.broadcast_to(jnp.asarray(reach, inner.dtype), (*batch, 1))
    return jnp.concatenate([-end, jnp.sort(jnp.clip(inner, -end, end), axis=-1), end], axis=-1)


@functools.cache
def legendre(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on [0, 1]."""
    x, weights = np.polynomial.legendre.leggauss(nodes)
    return (x + 1) / 2, weights / 2


def normal_nodes(low: Array, high: Array, nodes: int) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Nodes and weights for averages over N(0, 1) on panels between two ends."""
    x, weights = legendre(nodes)
    xi = low + (high - low) * x
    return xi, (high - low) * weights * jnp.exp(-(xi**2) / 2) / math.sqrt(2 * math.pi)


Found = tuple[Float[Array, "..."], Float[Array, "..."], Int[Array, "..."]]
"""Where the last panel ends, all ends that were chosen, and how many they are."""


class Centres(NamedTuple):
    """Points around which an integrand varies: kinks, or what averages over other variables have left of them."""

    at: Float[Array, "*batch t"]
    layer: Float[Array, "*batch t"] | float
    """How far the kinks have been smoothed; zero for those that have not."""
    scale: Float[Array, "*batch t"] | float
    """How fast the integrand varies close by,"""
    grading: Float[Array, "*batch t"] | float
    """and farther away, in units of the distance."""


def few_panels(
    points: Sequence[Array], centres: Sequence[Centres], nodes: int
) -> tuple[Float[Array, "*batch ends"], Int[Array, ""]]:
    """The ends of panels, of which some of the `points` are enough, and how many panels there are at most: the rest have no width.

    From the left, an end is left out if the panel up to the next one is not too long for the Gaussian, for any of the `centres`
    nearby and for the layers that it overlaps.
    """
    ends = panel_ends([*points, jnp.asarray(_BULK)], REACH)
    batch = ends.shape[:-1]
    shapes = [(*batch, each.at.shape[-1]) for each in centres]
    at, layer, scale, grading = (
        jnp.concatenate([jnp.broadcast_to(c[k], shape) for c, shape in zip(centres, shapes, strict=True)], axis=-1)
        for k in range(4)
    )

    def choose(found: Found, following: tuple[Array, Array]) -> tuple[Found, None]:
        (low, chosen, count), (end, high) = found, following
        length = high - low
        outside = jnp.maximum(jnp.maximum(at - high[..., None], low[..., None] - at), 0.0)
        overlaps = (low[..., None] < at + layer) & (high[..., None] > at - layer)
        too_long = (overlaps & (length[..., None] > layer * (1 + _ROUNDING))) | (
            length[..., None] > jnp.maximum(scale, grading * outside)
        )
        in_the_bulk = (low < _BULK[-1]) & (high > _BULK[0])
        longest = jnp.where(in_the_bulk, _LONGEST[nodes], _LONGEST_TAIL)
        kept = (jnp.any(too_long, axis=-1) | (length > longest)) & (end > low + _NO_WIDTH) & (end < REACH)
        here = (np.arange(ends.shape[-1]) == count[..., None]) & kept[..., None]
        return (jnp.where(kept, end, low), jnp.where(here, end[..., None], chosen), count + kept), None

    inner, following = (jnp.moveaxis(each, -1, 0) for each in (ends[..., 1:-1], ends[..., 2:]))
    start = ends[..., 0], jnp.full_like(ends, REACH).at[..., 0].set(-REACH), jnp.ones(batch, int)
    (_, chosen, count), _ = jax.lax.scan(choose, start, (inner, following))
    return chosen, jnp.max(count)


def normal_average(
    panels: tuple[Float[Array, "*batch ends"], Int[Array, ""]], integrand: Callable[[Array], Array], nodes: int
) -> Float[Array, "*batch"]:
    """The average over N(0, 1) on `few_panels`, one after the other; the `integrand` takes the nodes of one of them as a last axis."""
    ends, count = panels

    def add(panel: Array, total: Array) -> Array:
        low, high = (jax.lax.dynamic_index_in_dim(ends, panel + k, axis=-1) for k in (0, 1))
        xi, weights = normal_nodes(low, high, nodes)
        return total + jnp.sum(weights * integrand(xi), axis=-1)

    return jax.lax.fori_loop(0, count, add, jnp.zeros(ends.shape[:-1], ends.dtype))


def conditional_average(
    function: Callable[[Array], Array],
    places: Places,
    mean: Float[Array, "*#batch"],
    deviation: Float[Array, "*#batch"],
    nodes: int,
    few: bool = False,
) -> Float[Array, "*#batch"]:
    r"""$\langle f(m + s\,\xi)\rangle$ over $\xi\sim N(0,1)$, elementwise over means $m$ and deviations $s$. For many of them `few`
    panels, one after the other, take less time; all panels at once are a shorter program."""
    mean, deviation = (array[..., None] for array in jnp.broadcast_arrays(mean, deviation))
    crossing, ladder = ratio(places.array - mean, deviation), rungs(deviation, places)
    points = [crossing, beside(crossing, *ladder)]
    if few:
        panels = few_panels(points, [Centres(crossing, 0.0, *graded(ladder))], nodes)
        return normal_average(panels, lambda xi: function(mean + deviation * xi), nodes)
    ends = panel_ends([*points, jnp.asarray(_BULK)], REACH)
    xi, weights = normal_nodes(ends[..., :-1, None], ends[..., 1:, None], nodes)
    return jnp.sum(weights * function(mean[..., None] + deviation[..., None] * xi), axis=(-2, -1))


def elementwise_in_chunks(formula: Callable[..., Array], arrays: Sequence[Array], size: int) -> Array:
    """An elementwise `formula` of arrays that broadcast, `size` elements at a time to bound the memory."""
    shape = jnp.broadcast_shapes(*(array.shape for array in arrays))
    flat = [jnp.broadcast_to(array, shape).ravel() for array in arrays]
    count = flat[0].size
    if count == 0:
        return jnp.zeros(shape, jnp.result_type(*arrays))
    size = min(size, count)
    chunks = tuple(jnp.pad(array, (0, -count % size), mode="edge").reshape(-1, size) for array in flat)
    values = jax.lax.map(jax.checkpoint(lambda chunk: formula(*chunk)), chunks)
    return values.ravel()[:count].reshape(shape)
