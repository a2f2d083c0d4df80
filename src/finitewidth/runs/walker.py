"""Random covariances followed through depth: each path until its end, or frozen where it left its domain."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.random import fold_in
from jaxtyping import Bool, Float, Int, Key

from .._arrays import Array, diagonal
from .._compile import compiled_in_haste
from ..results import PathStatus

SMALLEST_ENTRY = 1e-290
"""Below, correlations lose their digits."""


class Process(eqx.Module):
    """A random walk of states that have a covariance, in steps of one length: the layers of a network."""

    @abstractmethod
    def start(self, key: Key[Array, ""]) -> Any:
        """The state at depth zero of the path with this key."""

    @abstractmethod
    def step(self, key: Key[Array, ""], number: Int[Array, ""], state: Any) -> Any:
        """The state after step `number`, counted from one, of the path with this key."""

    @abstractmethod
    def covariance(self, state: Any) -> Float[Array, "m m"]:
        """The covariance by which a path is judged."""


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


@compiled_in_haste(static_argnames="lane")
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
            return walker, walker.V

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
    """One step to `state`, of a path that is still running. Frozen where it crosses the sphere, before it vanishes or before
    it turns indefinite; never NaN."""
    V, old = process.covariance(state), walker.V
    finite = jnp.isfinite(V).all()
    outside = ~(jnp.linalg.norm(V) < radius)  # NaN is outside too
    vanished = (jnp.max(jnp.abs(V)) < SMALLEST_ENTRY) & (jnp.max(jnp.abs(old)) >= SMALLEST_ENTRY)
    # The norm is at most the trace: one of m tokens has its share of it. The others stay as they are.
    left = ~(diagonal(V) < radius / len(V))
    last = jnp.where(finite, V, old)
    scale = scale_onto_sphere(last, left, radius)
    ended = walker.status != PathStatus.RUNNING
    stays = ended | vanished
    status = jnp.where(outside | vanished, PathStatus.STOPPED, PathStatus.RUNNING)
    return Walker(
        jax.tree.map(lambda new, held: jnp.where(stays | outside, held, new), state, walker.state),
        jnp.where(stays, old, jnp.where(outside, last * scale[:, None] * scale, V)),
        jnp.where(ended, walker.status, status),
        jnp.where(ended | (status == PathStatus.RUNNING), walker.stopped_at, number),
    )


def scale_onto_sphere(
    V: Float[Array, "m m"], left: Bool[Array, " m"], radius: Float[Array, ""] | float
) -> Float[Array, " m"]:
    r"""Factors $s_\alpha$, one for tokens that have not left and one and the same for those that have, for which the norm of
    $s_\alpha V^{\alpha\beta}s_\beta$ is the radius: the positive root of
    $s^4\|V_{\rm left}\|^2 + s^2\|V_{\rm between}\|^2 + \|V_{\rm stays}\|^2 = r^2$."""
    largest = jnp.max(jnp.abs(V))
    largest = jnp.where(largest > 0, largest, 1.0)  # taken out, lest squares overflow
    squares, both, either = jnp.square(V / largest), left[:, None] & left, left[:, None] | left
    quartic, constant = jnp.sum(jnp.where(both, squares, 0.0)), jnp.sum(jnp.where(either, 0.0, squares))
    half = jnp.sum(jnp.where(either & ~both, squares, 0.0)) / 2
    room = jnp.square(radius / largest) - constant
    square = room / (half + jnp.sqrt(half**2 + quartic * room))
    return jnp.where(left & (quartic > 0), jnp.sqrt(square), 1.0)


def left_the_cone(V: Float[Array, "m m"]) -> Bool[Array, ""]:
    """Whether an eigenvalue is negative by more than rounding."""
    lowest = jnp.linalg.eigvalsh(V)[0]
    return lowest < -1e-12 * jnp.trace(V)
