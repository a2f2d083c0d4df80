"""Networks followed through their depth, each until its end or until its covariance can no longer be written down."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.random import fold_in
from jaxtyping import Array, Float, Int, Key

from ...networks.shaped import PathStatus
from .chain import ChainNetwork
from .dense import DenseNetwork

LARGEST_NORM = 1e150  # squares of larger numbers overflow
_SMALLEST_ENTRY = 1e-290  # below, correlations lose their digits


class Walker(NamedTuple):
    """One network on its way: running, or frozen where it ended."""

    state: Any
    V: Float[Array, "m m"]
    status: Int[Array, ""]
    stopped_at: Int[Array, ""]


@partial(jax.jit, static_argnames="lane")
def walk(
    network: ChainNetwork | DenseNetwork,
    key: Key[Array, ""],
    first: Array,
    lane: int,
    saved_layers: Int[Array, " times"],
    radius: Array,
) -> tuple[Float[Array, "lane times m m"], Int[Array, " lane"], Int[Array, " lane"]]:
    """Covariances at the saved layers, status and last layer of networks `first`, `first + 1`, ..., so many as `lane`."""

    def one(index: Array) -> tuple[Array, Array, Array]:
        own = fold_in(key, index)
        state = network.start(fold_in(own, 0))
        zero = jnp.zeros((), int)
        walker = Walker(state, network.covariance(state), zero + PathStatus.RUNNING, zero)

        def layer(number: Array, walker: Walker) -> Walker:
            return guarded(network, walker, network.step(fold_in(own, number), walker.state), radius, number)

        def interval(walker: Walker, bounds: tuple[Array, Array]) -> tuple[Walker, Array]:
            walker = lax.fori_loop(bounds[0] + 1, bounds[1] + 1, layer, walker)
            return walker, walker.V

        last, V = lax.scan(interval, walker, (saved_layers[:-1], saved_layers[1:]))
        return jnp.concatenate([walker.V[None], V]), last.status, last.stopped_at

    return jax.vmap(one)(first + jnp.arange(lane))


def guarded(network: ChainNetwork | DenseNetwork, walker: Walker, state: Any, radius: Array, number: Array) -> Walker:
    """One layer of a network that is still running. Frozen on the sphere it crosses, or before it vanishes; never NaN."""
    V = network.covariance(state)
    norm = jnp.linalg.norm(V)
    finite = jnp.isfinite(norm)
    outside = ~finite | (norm >= radius)
    vanished = (jnp.max(jnp.abs(V)) < _SMALLEST_ENTRY) & (jnp.max(jnp.abs(walker.V)) >= _SMALLEST_ENTRY)
    last = jnp.where(finite, V, walker.V)
    on_sphere = last * (radius / jnp.linalg.norm(last))
    ended = walker.status != PathStatus.RUNNING
    stops = outside | vanished
    return Walker(
        jax.tree.map(lambda new, old: jnp.where(ended | stops, old, new), state, walker.state),
        jnp.where(ended | vanished, walker.V, jnp.where(outside, on_sphere, V)),
        jnp.where(ended, walker.status, jnp.where(stops, PathStatus.STOPPED, PathStatus.RUNNING)),
        jnp.where(ended | ~stops, walker.stopped_at, number),
    )
