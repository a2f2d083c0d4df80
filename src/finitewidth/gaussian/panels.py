r"""Gauss-Legendre panels for Gaussian integrals whose integrand changes character at known places.

An average over $\xi\sim N(0,1)$ is cut into panels on each of which the integrand is smooth on the scale of the panel
itself; one Gauss-Legendre rule of fixed order on every panel then converges geometrically. A place of change, a
*crossing*, is where an affine function of $\xi$, $\text{slope}\cdot\xi + \ldots$, meets a kink. Panels end there and at
distances given by the scales that the integrand may have around it:

* the function's own scale, of order one in its argument, so $1/|\text{slope}|$ in $\xi$ (`rungs`);
* the width of a boundary layer, when Gaussian noise integrated before has smoothed the kink (see `crossings`).

Panels may have zero width: their number is fixed, so that everything works under `jit` and `vmap`, and for every
covariance, singular ones included.
"""

import functools
import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

REACH = 9.0  # standard deviations: exp(-9**2 / 2) = 3e-18
LAYER = 6.0  # a kink smoothed by noise of deviation s is forgotten 6 s away: exp(-6**2 / 2) = 2e-8 of the layer's height
_BULK = np.array([-3.0, 0.0, 3.0])  # panel ends that resolve the Gaussian itself
OWN_SCALE = 1.5  # functions are taken to vary on a scale of order one around their kinks
RUNGS = 3
_FAR = 1e3  # anything beyond REACH


def ratio(numerator: Array, denominator: Array) -> Array:
    """The quotient, and zero (with zero gradient) where the denominator vanishes."""
    defined = jnp.abs(denominator) > jnp.finfo(denominator.dtype).tiny
    return jnp.where(defined, numerator / jnp.where(defined, denominator, 1.0), 0.0)


def root(square: Array) -> Array:
    """The square root, and zero (with zero gradient) where rounding made a variance negative."""
    positive = square > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1.0)), 0.0)


def distance(length: Array | float, slope: Array) -> Array:
    r"""How far in $\xi$ an affine function of this slope travels `length`; beyond reach for slope zero."""
    moving = jnp.abs(slope) * _FAR > length
    return jnp.where(moving, length / jnp.where(moving, jnp.abs(slope), 1.0), _FAR)


def rungs(slope: Array) -> tuple[Array, ...]:
    r"""Distances from a kink that resolve the function's own scale and lead, in equal ratios, to the tails."""
    near = jnp.minimum(distance(OWN_SCALE, slope), REACH)
    return tuple(near * (REACH / near) ** (step / RUNGS) for step in range(RUNGS))


def beside(crossing: Array, *distances: Array) -> list[Array]:
    """The points at each of the `distances` on either side of every crossing."""
    return [crossing + sign * length for length in distances for sign in (-1.0, 1.0)]


def panel_ends(points: Sequence[Array], reach: Array | float = REACH) -> Float[Array, "*batch ends"]:
    """All points in order, clipped to $[-reach, reach]$, with the two ends of that interval; broadcast over batches."""
    batch = jnp.broadcast_shapes(*(point.shape[:-1] for point in points))
    inner = jnp.concatenate([jnp.broadcast_to(point, (*batch, point.shape[-1])) for point in points], axis=-1)
    end = jnp.broadcast_to(jnp.asarray(reach, inner.dtype), (*batch, 1))
    return jnp.concatenate([-end, jnp.sort(jnp.clip(inner, -end, end), axis=-1), end], axis=-1)


@functools.cache
def _legendre(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on [0, 1]."""
    x, weights = np.polynomial.legendre.leggauss(nodes)
    return (x + 1) / 2, weights / 2


def normal_rule(points: Sequence[Array], nodes: int) -> tuple[Array, Array]:
    """Nodes and weights, shape (*batch, panels, nodes), for averages over N(0, 1) with panels that end at `points`."""
    ends = panel_ends([*points, jnp.asarray(_BULK)])
    x, weights = _legendre(nodes)
    low, width = ends[..., :-1, None], jnp.diff(ends)[..., None]
    xi = low + width * x
    return xi, width * weights * jnp.exp(-(xi**2) / 2) / math.sqrt(2 * math.pi)


def conditional_average(
    function: Callable[[Array], Array], kinks: Float[Array, " t"], mean: Array, deviation: Array, nodes: int
) -> Array:
    r"""$\langle f(m + s\xi)\rangle$ with $\xi\sim N(0,1)$, elementwise over the arrays $m$ and $s$."""
    mean, deviation = (jnp.asarray(array)[..., None] for array in jnp.broadcast_arrays(mean, deviation))
    crossing = ratio(kinks - mean, deviation)
    xi, weights = normal_rule([crossing, *beside(crossing, *rungs(deviation))], nodes)
    return jnp.sum(weights * function(mean[..., None] + deviation[..., None] * xi), axis=(-2, -1))


def elementwise_in_chunks(formula: Callable[..., Array], arrays: Sequence[Array], size: int) -> Array:
    """`formula` applied elementwise to broadcast arrays, `size` elements at a time to bound the memory."""
    shape = jnp.broadcast_shapes(*(array.shape for array in arrays))
    flat = [jnp.broadcast_to(array, shape).ravel() for array in arrays]
    count = flat[0].size
    size = max(1, min(size, count))
    padding = -count % size
    chunks = tuple(jnp.pad(array, (0, padding), mode="edge").reshape(-1, size) for array in flat)
    values = jax.lax.map(jax.checkpoint(lambda chunk: formula(*chunk)), chunks)
    return values.ravel()[:count].reshape(shape)
