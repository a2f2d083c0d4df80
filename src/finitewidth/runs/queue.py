"""Random walks of different lengths side by side: whoever has arrived makes room for the next."""

from abc import abstractmethod
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree
from jax.random import fold_in
from jaxtyping import Bool, Int, Key

from .._arrays import Array
from .._compile import compiled_in_haste


class Journey(eqx.Module):
    """A random walk that ends when it will, seen from the outside. What is on its way is any pytree of arrays."""

    @abstractmethod
    def begin(self) -> Any:
        """The start, the same for all."""

    @abstractmethod
    def advance(self, key: Key[Array, ""], walker: Any) -> Any:
        """One step of the walker with this key, which is nowhere due."""

    @abstractmethod
    def due(self, walker: Any) -> Bool[Array, ""]:
        """Whether it has arrived where something is to be kept."""

    @abstractmethod
    def kept(self, walker: Any) -> tuple[Int[Array, ""], Any]:
        """What is kept of one that is due, and at which place in its row."""

    @abstractmethod
    def resumed(self, walker: Any) -> Any:
        """One that was due, on its way again."""

    @abstractmethod
    def ended(self, walker: Any) -> Bool[Array, ""]:
        """Whether it has nowhere to go, after it was due."""

    @abstractmethod
    def summary(self, walker: Any) -> Any:
        """What is told of one that has ended."""

    @abstractmethod
    def failed(self, walker: Any) -> Bool[Array, ""]:
        """Whether one that has ended should not have."""


class Rows(NamedTuple):
    """What walkers left behind, a row for each: arrays (walkers, places, ...) and (walkers, ...)."""

    kept: Any
    summary: Any


class _Queue(NamedTuple):
    walkers: Any
    owners: Int[Array, " slots"]
    waiting: Int[Array, ""]
    failures: Int[Array, ""]
    rows: Rows


@compiled_in_haste(static_argnames=("places", "slots", "lane"))
def drain(
    journey: Journey,
    key: Key[Array, ""],
    first: Int[Array, ""] | int,
    count: Int[Array, ""] | int,
    most_failures: Int[Array, ""] | int,
    places: int,
    slots: int,
    lane: int,
) -> Rows:
    """Walkers number `first`, `first + 1`, ..., `count` of them, at most as many as `lane`; so many as `slots` at a time.

    Each has a key of its own, so that it does not matter beside whom it walks. It all ends early when more than
    `most_failures` have failed."""
    begin = journey.begin()
    each = jax.vmap(lambda _: begin)
    walkers = each(jnp.arange(slots))
    place, row = jax.eval_shape(journey.kept, begin)
    del place
    told, unpacked = ravel_pytree(journey.summary(begin))  # in one array, to be written at once
    kept = jax.tree.map(lambda leaf: jnp.zeros((lane, places, *leaf.shape), leaf.dtype), row)
    up_to = jnp.tri(slots, dtype=float)  # sums by a product: JAX's own compile to a dozen operations
    zero = jnp.zeros((), int)

    def on_their_way(queue: _Queue) -> Array:
        return (queue.waiting - slots < count) & (queue.failures <= most_failures)

    def until_one_arrives(queue: _Queue) -> _Queue:
        active = queue.owners < count
        keys = jax.vmap(lambda owner: fold_in(key, first + owner))(queue.owners)

        def none_due(walkers: Any) -> Array:
            return jnp.logical_not((active & jax.vmap(journey.due)(walkers)).any())

        walkers = lax.while_loop(none_due, partial(jax.vmap(journey.advance), keys), queue.walkers)
        due = active & jax.vmap(journey.due)(walkers)
        places_due, found = jax.vmap(journey.kept)(walkers)
        at = jnp.where(due, queue.owners, lane)  # those beyond the end are dropped
        kept = jax.tree.map(lambda old, new: old.at[at, places_due].set(new, mode="drop"), queue.rows.kept, found)
        walkers = _where(due, jax.vmap(journey.resumed)(walkers), walkers)

        over = due & jax.vmap(journey.ended)(walkers)
        told = jax.vmap(lambda walker: ravel_pytree(journey.summary(walker))[0])(walkers)
        summary = queue.rows.summary.at[jnp.where(over, queue.owners, lane)].set(told, mode="drop")
        sums = (up_to @ jnp.stack([over, over & jax.vmap(journey.failed)(walkers)], axis=1)).astype(int)
        owners = jnp.where(over, queue.waiting + sums[:, 0] - 1, queue.owners)
        walkers = _where(over, each(owners), walkers)
        waiting, failures = queue.waiting + sums[-1, 0], queue.failures + sums[-1, 1]
        return _Queue(walkers, owners, waiting, failures, Rows(kept, summary))

    rows = Rows(kept, jnp.zeros((lane, *told.shape), told.dtype))
    start = _Queue(walkers, jnp.arange(slots), zero + slots, zero, rows)
    found = lax.while_loop(on_their_way, until_one_arrives, start).rows
    return Rows(found.kept, jax.vmap(unpacked)(found.summary))


def _where(which: Bool[Array, " slots"], these: Any, others: Any) -> Any:
    return jax.tree.map(
        lambda one, other: jnp.where(which.reshape(-1, *[1] * (one.ndim - 1)), one, other), these, others
    )
