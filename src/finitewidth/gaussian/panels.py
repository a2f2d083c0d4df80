r"""Gauss-Legendre panels for Gaussian integrals whose integrand changes character at known places.

An average over $\xi\sim N(0,1)$ is cut into panels on each of which the integrand is smooth on the scale of the panel
itself; one rule of fixed order on every panel then converges geometrically. A *crossing* is where an affine function
of $\xi$ meets a kink. Panels end there, and at distances from it given by the scales that the integrand may have:

* the function's own scale in its argument (`places`), divided by $|\text{slope}|$ in $\xi$ (`rungs`);
* the width of the layer that is left of a kink by averaging over another variable (`LAYER`).

Panels may have zero width: their number is fixed, so that everything works under `jit` and `vmap`, for every
covariance, singular ones included. Nodes move with the kinks, so `grad` is right too where no deviation vanishes.
"""

import functools
import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .places import REACH, Places

LAYER = 6.0  # noise of deviation s smooths a kink within 6 s: exp(-6**2 / 2) = 2e-8 of the layer's height is beyond
_BULK = np.array([-3.0, 0.0, 3.0])  # panel ends that resolve the Gaussian itself
_FAR = 1e3  # stands for any distance beyond REACH


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
def _legendre(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on [0, 1]."""
    x, weights = np.polynomial.legendre.leggauss(nodes)
    return (x + 1) / 2, weights / 2


def normal_rule(
    points: Sequence[Array], nodes: int
) -> tuple[Float[Array, "*batch panels nodes"], Float[Array, "*batch panels nodes"]]:
    """Nodes and weights for averages over N(0, 1), on panels that end at the `points`."""
    ends = panel_ends([*points, jnp.asarray(_BULK)], REACH)
    x, weights = _legendre(nodes)
    low, width = ends[..., :-1, None], jnp.diff(ends)[..., None]
    xi = low + width * x
    return xi, width * weights * jnp.exp(-(xi**2) / 2) / math.sqrt(2 * math.pi)


def conditional_average(
    function: Callable[[Array], Array],
    places: Places,
    mean: Float[Array, "*#batch"],
    deviation: Float[Array, "*#batch"],
    nodes: int,
) -> Float[Array, "*#batch"]:
    r"""$\langle f(m + s\,\xi)\rangle$ over $\xi\sim N(0,1)$, elementwise over means $m$ and deviations $s$."""
    mean, deviation = (array[..., None] for array in jnp.broadcast_arrays(mean, deviation))
    crossing = ratio(places.array - mean, deviation)
    xi, weights = normal_rule([crossing, beside(crossing, *rungs(deviation, places))], nodes)
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
