"""Pairs of paths that share their noise, one with steps twice as long as the other."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Bool, Float, Int, Key

from .._arrays import Array
from ..results import PathStatus
from ..runs.queue import Journey
from .path import Integration, Path
from .scheme import gram
from .step_size import equal_parts

Statistic = Callable[[Float[Array, "m m"]], Float[Array, " k"]]


class Pair(NamedTuple):
    """Two paths at the same depth."""

    fine: Path
    coarse: Path


class Pairs(Journey):
    """Pairs of paths that share their noise: two steps of one for each step of the other."""

    fine: Integration
    coarse: Integration
    statistic: Statistic = eqx.field(static=True)

    def begin(self) -> Pair:
        """The same for all."""
        return Pair(self.fine.begin(), self.coarse.begin())

    def advance(self, key: Key[Array, ""], walker: Pair) -> Pair:
        """Two steps of the finer path, and one with the sum of their noises."""
        step = self._length(*walker)

        def finer(path: Path, _: None) -> tuple[Path, Array]:
            drawn = self.fine.draw(key, path, step)
            return self.fine.after_step(path, drawn, step), drawn

        fine, drawn = lax.scan(finer, walker.fine, length=2)
        return Pair(fine, self.coarse.after_step(walker.coarse, (drawn[0] + drawn[1]) / jnp.sqrt(2.0), 2 * step))

    def _length(self, fine: Path, coarse: Path) -> Float[Array, ""]:
        """Half of what both can bear."""
        longest = jnp.minimum(2 * self.fine.longest_step(fine), self.coarse.longest_step(coarse))
        return equal_parts(self.fine.times[-1] - fine.time, longest) / 2

    def due(self, walker: Pair) -> Bool[Array, ""]:
        """Both at the last depth, or at their ends."""
        return self.fine.due(walker.fine) & self.coarse.due(walker.coarse)

    def kept(self, walker: Pair) -> tuple[Int[Array, ""], tuple[Float[Array, "2 k"], Float[Array, "2"]]]:
        """The statistic of both, and whether they were stopped."""
        both = (self.fine, walker.fine), (self.coarse, walker.coarse)
        values = jnp.stack([self.statistic(gram(process.kept(path)[1])) for process, path in both])
        stopped = jnp.stack([1.0 * (path.status != PathStatus.RUNNING) for _, path in both])
        return jnp.zeros((), int), (values, stopped)

    def resumed(self, walker: Pair) -> Pair:
        """There is nothing beyond."""
        return walker

    def ended(self, walker: Pair) -> Bool[Array, ""]:
        """All that are due."""
        return jnp.asarray(True)

    def summary(self, walker: Pair) -> Bool[Array, ""]:
        """Whether the steps of one were spent."""
        return self.failed(walker)

    def failed(self, walker: Pair) -> Bool[Array, ""]:
        """Whether the steps of one were spent."""
        return self.fine.failed(walker.fine) | self.coarse.failed(walker.coarse)
