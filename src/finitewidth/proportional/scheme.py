"""The grammar of the integrators: how a path starts, which noise a step draws, and what it does with it."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Bool, Float, Key, PyTree

from .._arrays import Array
from ..networks.shaped import ShapedBlock
from ..networks.shaped.block import Square


class State(NamedTuple):
    """A path between two steps."""

    V: Float[Array, "m m"]
    """The covariance, up to what `observed` adds."""
    factor: Float[Array, "m r"]
    """What the next step acts on."""


class Scheme(eqx.Module):
    """One step in depth time of one path, in two parts: noise, then what prepares the next step.

    Only tokens that are `moving` move; the rows of the others stay, and must not matter to those."""

    stays_positive: eqx.AbstractClassVar[bool]
    """Whether no step can leave the cone of positive semi-definite matrices."""

    @abstractmethod
    def check(self, block: ShapedBlock, tokens: int, step: float) -> None:
        """Refuse blocks and steps for which the scheme is not defined."""

    @abstractmethod
    def start(self, block: ShapedBlock, factor: Float[Array, "m r"], step: Float[Array, ""]) -> State:
        r"""The state at depth zero, from a factor $V_0 = FF^{\mathsf T}$, before a step of this length."""

    @abstractmethod
    def draw(self, block: ShapedBlock, key: Key[Array, ""], state: State, step: Float[Array, ""]) -> PyTree:
        """The random numbers of one step."""

    @abstractmethod
    def noisy(
        self, block: ShapedBlock, state: State, drawn: PyTree, step: Float[Array, ""], moving: Bool[Array, " m"]
    ) -> State:
        r"""After the noise of a step: a covariance and a factor of it."""

    @abstractmethod
    def ready(
        self, block: ShapedBlock, noisy: State, step: Array, following: Array, moving: Bool[Array, " m"]
    ) -> State:
        """What a step that is `following` starts from, after the noise of one that took `step`."""

    @abstractmethod
    def observed_factor(
        self, block: ShapedBlock, state: State, step: Float[Array, ""], moving: Bool[Array, " m"]
    ) -> Float[Array, "m r"]:
        """A factor of the covariance at the depth to which the last step, of this length, led."""

    def observed(self, block: ShapedBlock, state: State, step: Float[Array, ""]) -> Square:
        """That covariance, of a path whose tokens all move."""
        return gram(self.observed_factor(block, state, step, jnp.ones(len(state.V), dtype=bool)))

    def advance(self, block: ShapedBlock, state: State, drawn: PyTree, step: Float[Array, ""]) -> State:
        """The state one step later, of a path whose tokens all move by steps of one length."""
        moving = jnp.ones(len(state.V), dtype=bool)
        return self.ready(block, self.noisy(block, state, drawn, step, moving), step, step, moving)


def gram(factor: Float[Array, "m r"]) -> Square:
    r"""$FF^{\mathsf T}$."""
    return factor @ factor.T


def among(moving: Bool[Array, " m"], V: Square, rest: Array | float = 0.0) -> Square:
    """The entries of `V` between tokens that move, those of `rest` elsewhere."""
    return jnp.where(moving[:, None] & moving, V, rest)
