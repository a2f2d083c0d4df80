"""Pairs of paths that share their noise, one with steps twice as long as the other."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
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
        fine, coarse = self.fine.begin(), self.coarse.begin()
        step = self._length(fine, coarse)
        return Pair(self.fine.begin(step), self.coarse.begin(2 * step))

    def advance(self, key: Key[Array, ""], walker: Pair) -> Pair:
        """Two steps of the finer path, and one with the sum of their noises."""
        fine, step = walker.fine, walker.fine.step
        first = self.fine.draw(key, fine)
        fine = self.fine.prepared(self.fine.after_noise(fine, first, step), step)
        second = self.fine.draw(key, fine)
        fine = self.fine.after_noise(fine, second, step)
        coarse = self.coarse.after_noise(walker.coarse, (first + second) / jnp.sqrt(2.0), 2 * step)
        step = self._length(fine, coarse)
        return Pair(self.fine.prepared(fine, step), self.coarse.prepared(coarse, 2 * step))

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
