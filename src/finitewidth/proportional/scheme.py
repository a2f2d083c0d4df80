"""The grammar of the integrators: how a path starts, which noise a step draws, and what it does with it."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
from jax.random import fold_in
from jaxtyping import Float, Int, Key, PyTree

from .._arrays import Array
from ..networks.shaped import ShapedBlock
from ..networks.shaped.block import Square
from ..runs.walker import Process


class State(NamedTuple):
    """A path between two steps."""

    V: Float[Array, "m m"]
    """The covariance, up to what `observed` adds."""
    factor: Float[Array, "m r"]
    """What the next step acts on."""


class Scheme(eqx.Module):
    """One step in depth time of one path."""

    stays_positive: eqx.AbstractClassVar[bool]
    """Whether no step can leave the cone of positive semi-definite matrices."""

    @abstractmethod
    def check(self, block: ShapedBlock, tokens: int, step: float) -> None:
        """Refuse blocks and steps for which the scheme is not defined."""

    @abstractmethod
    def start(self, block: ShapedBlock, factor: Float[Array, "m r"], step: Float[Array, ""]) -> State:
        r"""The state at depth zero, from a factor $V_0 = FF^{\mathsf T}$."""

    @abstractmethod
    def draw(self, block: ShapedBlock, key: Key[Array, ""], state: State, step: Float[Array, ""]) -> PyTree:
        """The random numbers of one step."""

    @abstractmethod
    def advance(self, block: ShapedBlock, state: State, drawn: PyTree, step: Float[Array, ""]) -> State:
        """The state one step later."""

    @abstractmethod
    def observed(self, block: ShapedBlock, state: State, step: Float[Array, ""]) -> Square:
        """The covariance at the depth to which the last step led."""


class Integration(Process):
    """A block's equation, integrated by a scheme in equal steps from a factor of the first covariance."""

    scheme: Scheme
    block: ShapedBlock
    factor: Float[Array, "m r"]
    step_size: Float[Array, ""]

    def start(self, key: Key[Array, ""]) -> State:
        """The same for every path."""
        return self.scheme.start(self.block, self.factor, self.step_size)

    def draw(self, key: Key[Array, ""], number: Int[Array, ""], state: State) -> PyTree:
        """The random numbers of step `number`."""
        return self.scheme.draw(self.block, fold_in(key, number - 1), state, self.step_size)

    def advance(self, state: State, drawn: PyTree) -> State:
        """One step with these random numbers."""
        return self.scheme.advance(self.block, state, drawn, self.step_size)

    def step(self, key: Key[Array, ""], number: Int[Array, ""], state: State) -> State:
        """One step with random numbers of its own."""
        return self.advance(state, self.draw(key, number, state))

    def covariance(self, state: State) -> Square:
        """What the next step starts from."""
        return state.V

    def observed(self, state: State) -> Square:
        """At the depth to which the last step led."""
        return self.scheme.observed(self.block, state, self.step_size)

    @property
    def stays_positive(self) -> bool:
        """That of the scheme."""
        return self.scheme.stays_positive


def gram(factor: Float[Array, "m r"]) -> Square:
    r"""$FF^{\mathsf T}$."""
    return factor @ factor.T
