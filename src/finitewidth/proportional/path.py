"""One path of the covariance SDE on its way: its steps, the depths at which it is seen, and how its tokens leave."""

from typing import NamedTuple

import jax.numpy as jnp
from jax.random import fold_in
from jaxtyping import Bool, Float, Int, Key, PyTree

from .._arrays import Array, diagonal
from ..networks.shaped import ShapedBlock
from ..results import PathStatus
from ..runs.queue import Journey
from ..runs.walker import SMALLEST_ENTRY, left_the_cone, scale_onto_sphere
from .scheme import Scheme, State, among, gram
from .step_size import StepRule, equal_parts


class Path(NamedTuple):
    """A path between two steps."""

    state: State
    last: Float[Array, ""]
    """The length of the step that led here."""
    time: Float[Array, ""]
    number: Int[Array, ""]
    """Steps taken."""
    place: Int[Array, ""]
    """The number of the depth at which it is seen next."""
    stopped_at: Float[Array, " m"]
    """When each token was stopped; infinite for those that move."""
    exploded: Bool[Array, " m"]
    status: Int[Array, ""]

    @property
    def moving(self) -> Bool[Array, " m"]:
        """The tokens that move."""
        return jnp.isinf(self.stopped_at)


class End(NamedTuple):
    """What is told of a path that has ended."""

    status: Int[Array, ""]
    stopped_at: Float[Array, " m"]
    exploded: Bool[Array, " m"]
    number: Int[Array, ""]
    places: Int[Array, ""]
    """At how many depths it was seen; beyond them all tokens stay."""


class Integration(Journey):
    """A block's equation, integrated by a scheme from a factor of the first covariance."""

    scheme: Scheme
    block: ShapedBlock
    factor: Float[Array, "m r"]
    rule: StepRule
    depends: Bool[Array, "m m"]
    """Row by row, on which tokens a token depends."""
    times: Float[Array, " times"]
    """Depths at which paths are seen, zero first; the last may be there more than once, and is seen once."""
    radius: Float[Array, ""]
    most_steps: Int[Array, ""]

    def begin(self) -> Path:
        """The same for every path."""
        m, zero, none = len(self.factor), jnp.zeros(()), jnp.zeros((), int)
        start, never = self.scheme.start(self.factor), jnp.full(m, jnp.inf)
        return Path(start, zero, zero, none, none + 1, never, jnp.zeros(m, bool), none + PathStatus.RUNNING)

    def advance(self, key: Key[Array, ""], walker: Path) -> Path:
        """One step with random numbers of its own."""
        step = equal_parts(self.times[walker.place] - walker.time, self.longest_step(walker))
        return self.after_step(walker, self.draw(key, walker, step), step)

    def draw(self, key: Key[Array, ""], path: Path, step: Float[Array, ""]) -> PyTree:
        """The random numbers of the next step."""
        return self.scheme.draw(self.block, fold_in(key, path.number), path.state, step)

    def after_step(self, path: Path, drawn: PyTree, step: Float[Array, ""]) -> Path:
        """A step of this length, and what becomes of tokens that leave by it."""
        ready = self.scheme.ready(self.block, path.state, path.last, step, path.moving)
        path = path._replace(state=ready)
        ahead = self.times[path.place]
        time = jnp.where(step >= (ahead - path.time) * (1 - 1e-9), ahead, path.time + step)
        new = self.scheme.noisy(self.block, ready, drawn, step, path.moving)
        return self._judged(path._replace(last=step, time=time, number=path.number + 1), new)

    def longest_step(self, path: Path) -> Float[Array, ""]:
        """The longest step that a path may take from where it is."""
        return self.rule.at_most(self.block, path.state.V, path.moving)

    def _judged(self, path: Path, new: State) -> Path:
        """Tokens that crossed the sphere are stopped on it, and with them those that depend on them, where they are; all are
        stopped before they vanish, turn indefinite or overflow, or when the steps are spent. Never NaN."""
        moving, old = path.moving, path.state
        V = among(moving, new.V)
        finite = jnp.isfinite(V).all()
        outside = finite & (jnp.linalg.norm(V) >= self.radius)
        largest, before = jnp.max(jnp.abs(V)), jnp.max(jnp.abs(among(moving, old.V)))
        vanished = (largest < SMALLEST_ENTRY) & (before >= SMALLEST_ENTRY)
        indefinite = jnp.asarray(False) if self.scheme.stays_positive else finite & ~outside & left_the_cone(V)
        spent = ~finite | (moving.any() & (path.number >= self.most_steps) & (path.time < self.times[-1]))

        # The norm is at most the trace: one of m tokens has its share of it.
        left = outside & moving & (diagonal(V) >= self.radius / len(V))
        good = finite & ~indefinite & ~vanished
        state = State(*(jnp.where(good, one, other) for one, other in zip(new, old, strict=True)))
        scale = scale_onto_sphere(among(moving, state.V), left, self.radius)
        stops = moving & ((self.depends & left).any(axis=1) | vanished | indefinite | spent)
        status = jnp.select(
            [indefinite, outside | vanished, spent],
            [PathStatus.LEFT_THE_CONE, PathStatus.STOPPED, PathStatus.UNRESOLVED],
            PathStatus.RUNNING,
        )
        return path._replace(
            state=State(state.V * scale[:, None] * scale, state.factor * scale[:, None]),
            stopped_at=jnp.where(stops, path.time, path.stopped_at),
            exploded=path.exploded | left,
            status=jnp.maximum(path.status, status),
        )

    def due(self, walker: Path) -> Bool[Array, ""]:
        """At a depth at which it is seen, or at its end."""
        return (walker.time >= self.times[walker.place]) | ~walker.moving.any()

    def kept(self, walker: Path) -> tuple[Int[Array, ""], Float[Array, "m r"]]:
        """A factor of the covariance."""
        seen = self.scheme.observed_factor(self.block, walker.state, walker.last, walker.moving)
        return walker.place, self._within(seen, walker.moving)

    def _within(self, factor: Float[Array, "m r"], moving: Bool[Array, " m"]) -> Float[Array, "m r"]:
        """What is observed half a step further on may have crossed the sphere before the path is judged."""
        norm = jnp.linalg.norm(among(moving, gram(factor)))
        shrink = jnp.sqrt(jnp.minimum(1.0, self.radius / jnp.where(norm > 0, norm, 1.0)))
        return jnp.where(moving[:, None], shrink * factor, factor)

    def resumed(self, walker: Path) -> Path:
        """On its way to the next depth."""
        return walker._replace(place=walker.place + 1)

    def ended(self, walker: Path) -> Bool[Array, ""]:
        """At the last depth, or without a token that moves."""
        return (walker.time >= self.times[-1]) | ~walker.moving.any()

    def summary(self, walker: Path) -> End:
        """How it ended."""
        return End(walker.status, walker.stopped_at, walker.exploded, walker.number, walker.place)

    def failed(self, walker: Path) -> Bool[Array, ""]:
        """Whether its steps were spent."""
        return walker.status == PathStatus.UNRESOLVED
