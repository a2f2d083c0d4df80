"""One path on its way: running, or frozen where it ended."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..networks.shaped import PathStatus, ShapedBlock
from .scheme import Scheme, State


class Walker(NamedTuple):
    """One path and how it is doing."""

    state: State
    status: Int[Array, ""]
    stopped_at: Int[Array, ""]


def start_walker(scheme: Scheme, block: ShapedBlock, factor: Float[Array, "m r"], step: Array) -> Walker:
    """A path at depth zero."""
    zero = jnp.zeros((), int)
    return Walker(scheme.start(block, factor, step), zero + PathStatus.RUNNING, zero)


def guarded_step(
    scheme: Scheme, block: ShapedBlock, walker: Walker, drawn: Any, step: Array, radius: Array, number: Array
) -> Walker:
    """One step of a path that is still running; a path that explodes is frozen at the radius, never NaN."""
    old = walker.state
    new = scheme.advance(block, old, drawn, step)
    finite = jnp.isfinite(new.V).all()
    outside = ~(jnp.linalg.norm(new.V) < radius)  # NaN is outside too
    indefinite = jnp.asarray(False) if scheme.stays_positive else ~outside & left_the_cone(new.V)
    # On the way out the direction is that of the last finite covariance, the norm that of the sphere it crossed.
    stopped = _within(jnp.where(finite, new.V, old.V), radius, at_least=radius)
    ended = walker.status != PathStatus.RUNNING
    V = jnp.where(ended | indefinite, old.V, jnp.where(outside, stopped, new.V))
    factor = jnp.where(ended | indefinite | outside, old.factor, new.factor)
    now = jnp.where(outside, PathStatus.STOPPED, jnp.where(indefinite, PathStatus.LEFT_THE_CONE, PathStatus.RUNNING))
    return Walker(
        State(V, factor),
        jnp.where(ended, walker.status, now),
        jnp.where(ended | (now == PathStatus.RUNNING), walker.stopped_at, number + 1),
    )


def observed(scheme: Scheme, block: ShapedBlock, walker: Walker, step: Array, radius: Array) -> Float[Array, "m m"]:
    """The covariance of a path where it is, or where it ended; within the radius."""
    running = walker.status == PathStatus.RUNNING
    return jnp.where(running, _within(scheme.observed(block, walker.state, step), radius), walker.state.V)


def _within(V: Float[Array, "m m"], radius: Array, at_least: Array | float = 0.0) -> Float[Array, "m m"]:
    """`V` scaled to the nearest norm between `at_least` and `radius`; the largest entry is taken out, lest squares overflow."""
    largest = jnp.max(jnp.abs(V))
    size = jnp.linalg.norm(V / jnp.where(largest > 0, largest, 1.0))
    norm = size * largest
    inside = (norm >= at_least) & (norm <= radius)
    target = jnp.clip(norm, at_least, radius)
    return jnp.where(
        inside | (largest == 0), V, V / jnp.where(largest > 0, largest, 1.0) * (target / jnp.maximum(size, 1.0))
    )


def left_the_cone(V: Float[Array, "m m"]) -> Array:
    """Whether an eigenvalue is negative by more than rounding."""
    lowest = jnp.linalg.eigvalsh(V)[0]
    return lowest < -1e-12 * jnp.trace(V)
