"""Networks of an ensemble, each of which is kept."""

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.random import fold_in
from jaxtyping import Int, Key

from .._arrays import Array
from .._compile import compiled_in_haste
from .._random import key_of
from ..runs.lanes import lane_of_networks
from ..runs.run import run
from ..runs.store import empty_store, put

_AT_MOST = 256  # networks side by side: more gain nothing, and someone who asks for a few waits for all of a lane

Drawn = Callable[[Key[Array, ""]], Any]
"""A pytree (an Equinox module) that makes arrays of one network out of its key."""


def one_by_one(
    sampler: Drawn,
    numbers_per_network: int,
    networks: int,
    seed: int,
    problem: Any,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Any:
    """What `sampler` makes of every network, along a new first axis; network $i$ of a seed is always the same.

    `numbers_per_network` are those that one keeps in memory at a time; the rest is as in `run`. How many go side by side does not depend
    on `networks`: compiled code that did would round differently.
    """
    key, lane = key_of(seed), lane_of_networks(numbers_per_network, _AT_MOST)

    def lane_from(first: Int[Array, ""] | int) -> Any:
        return _lane(sampler, key, first, lane)

    return run(
        lambda store, first: put(store, first, lane_from(first)),
        empty_store(jax.eval_shape(lane_from, 0), networks),
        total=networks,
        lane=lane,
        problem=problem,
        chunk_size=lane,
        checkpoint=checkpoint,
        progress=progress,
    )


@compiled_in_haste(static_argnames="lane")
def _lane(sampler: Drawn, key: Key[Array, ""], first: Int[Array, ""] | int, lane: int) -> Any:
    """Networks number `first`, `first + 1`, ..., side by side."""
    return jax.vmap(lambda number: sampler(fold_in(key, number)))(first + jnp.arange(lane))
