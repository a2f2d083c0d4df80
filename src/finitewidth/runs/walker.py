"""Random covariances followed through depth: each path until its end, or frozen where it left its domain."""

from abc import abstractmethod
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.random import fold_in
from jaxtyping import Bool, Float, Int, Key

from .._arrays import Array
from ..results import PathStatus

_SMALLEST_ENTRY = 1e-290  # below, correlations lose their digits


class Process(eqx.Module):
    """A random walk of states that have a covariance: layers of a network, or steps of an integrator."""

    @abstractmethod
    def start(self, key: Key[Array, ""]) -> Any:
        """The state at depth zero of the path with this key."""

    @abstractmethod
    def step(self, key: Key[Array, ""], number: Int[Array, ""], state: Any) -> Any:
        """The state after step `number`, counted from one, of the path with this key."""

    @abstractmethod
    def covariance(self, state: Any) -> Float[Array, "m m"]:
        """The covariance by which a path is judged."""

    def observed(self, state: Any) -> Float[Array, "m m"]:
        """The covariance that is shown of a path that runs."""
        return self.covariance(state)

    @property
    def stays_positive(self) -> bool:
        """Whether no step can leave the cone of positive semi-definite matrices."""
        return True


class Walker(NamedTuple):
    """One path on its way: running, or frozen where it ended."""

    state: Any
    V: Float[Array, "m m"]
    status: Int[Array, ""]
    stopped_at: Int[Array, ""]


class Paths(NamedTuple):
    """What paths leave behind: covariances at the saved depths, how each ended and after which step."""

    V: Float[Array, "paths times m m"]
    status: Int[Array, " paths"]
    stopped_at: Int[Array, " paths"]


@partial(jax.jit, static_argnames="lane")
def walk(
    process: Process,
    key: Key[Array, ""],
    first: Int[Array, ""] | int,
    saved_steps: Int[Array, " times"],
    radius: Float[Array, ""] | float,
    lane: int,
) -> Paths:
    """Paths number `first`, `first + 1`, ..., so many as `lane`; the numbers of steps are ordinary values, not compiled in."""

    def path(index: Array) -> Paths:
        own = fold_in(key, index)
        begin = start_walker(process, own)

        def step(number: Array, walker: Walker) -> Walker:
            return guarded(process, walker, process.step(own, number, walker.state), radius, number)

        def interval(walker: Walker, bounds: tuple[Array, Array]) -> tuple[Walker, Array]:
            walker = lax.fori_loop(bounds[0] + 1, bounds[1] + 1, step, walker)
            return walker, shown(process, walker, radius)

        end, V = lax.scan(interval, begin, (saved_steps[:-1], saved_steps[1:]))
        return Paths(jnp.concatenate([begin.V[None], V]), end.status, end.stopped_at)

    return jax.vmap(path)(first + jnp.arange(lane))


def start_walker(process: Process, key: Key[Array, ""]) -> Walker:
    """A path at depth zero."""
    state, zero = process.start(key), jnp.zeros((), int)
    return Walker(state, process.covariance(state), zero + PathStatus.RUNNING, zero)


def guarded(
    process: Process, walker: Walker, state: Any, radius: Float[Array, ""] | float, number: Int[Array, ""]
) -> Walker:
    """One step to `state`, of a path that is still running. Frozen on the sphere it crosses, before it vanishes or before it
    turns indefinite; never NaN."""
    V, old = process.covariance(state), walker.V
    finite = jnp.isfinite(V).all()
    outside = ~(jnp.linalg.norm(V) < radius)  # NaN is outside too
    vanished = (jnp.max(jnp.abs(V)) < _SMALLEST_ENTRY) & (jnp.max(jnp.abs(old)) >= _SMALLEST_ENTRY)
    indefinite = jnp.asarray(False) if process.stays_positive else ~outside & left_the_cone(V)
    # On the way out the direction is that of the last finite covariance, the norm that of the sphere it crossed.
    on_sphere = _within(jnp.where(finite, V, old), radius, at_least=radius)
    ended = walker.status != PathStatus.RUNNING
    stays = ended | vanished | indefinite
    status = jnp.where(
        indefinite, PathStatus.LEFT_THE_CONE, jnp.where(outside | vanished, PathStatus.STOPPED, PathStatus.RUNNING)
    )
    return Walker(
        jax.tree.map(lambda new, held: jnp.where(stays | outside, held, new), state, walker.state),
        jnp.where(stays, old, jnp.where(outside, on_sphere, V)),
        jnp.where(ended, walker.status, status),
        jnp.where(ended | (status == PathStatus.RUNNING), walker.stopped_at, number),
    )


def shown(process: Process, walker: Walker, radius: Float[Array, ""] | float) -> Float[Array, "m m"]:
    """The covariance of a path where it is, within the radius, or where it ended."""
    running = walker.status == PathStatus.RUNNING
    return jnp.where(running, _within(process.observed(walker.state), radius), walker.V)


def _within(
    V: Float[Array, "m m"], radius: Float[Array, ""] | float, at_least: Float[Array, ""] | float = 0.0
) -> Float[Array, "m m"]:
    """`V` scaled to the nearest norm between `at_least` and `radius`; the largest entry is taken out, lest squares overflow."""
    largest = jnp.max(jnp.abs(V))
    size = jnp.linalg.norm(V / jnp.where(largest > 0, largest, 1.0))
    norm = size * largest
    inside = (norm >= at_least) & (norm <= radius)
    target = jnp.clip(norm, at_least, radius)
    return jnp.where(
        inside | (largest == 0), V, V / jnp.where(largest > 0, largest, 1.0) * (target / jnp.maximum(size, 1.0))
    )


def left_the_cone(V: Float[Array, "m m"]) -> Bool[Array, ""]:
    """Whether an eigenvalue is negative by more than rounding."""
    lowest = jnp.linalg.eigvalsh(V)[0]
    return lowest < -1e-12 * jnp.trace(V)
