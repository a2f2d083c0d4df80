"""The grammar of the integrators: how a path starts, which noise a step draws, and what it does with it."""

from typing import NamedTuple, Protocol

from jaxtyping import Array, Float, Key, PyTree

from ..networks.shaped import ShapedBlock
from ..networks.shaped.block import Square


class State(NamedTuple):
    """A path between two steps."""

    V: Float[Array, "m m"]
    """The covariance, up to what `observed` adds."""
    factor: Float[Array, "m r"]
    """What the next step acts on."""


class Scheme(Protocol):
    """One step in depth time of one path."""

    stays_positive: bool
    """Whether no step can leave the cone of positive semi-definite matrices."""

    def check(self, block: ShapedBlock, tokens: int, step: float) -> None:
        """Refuse blocks and steps for which the scheme is not defined."""
        ...

    def start(self, block: ShapedBlock, factor: Float[Array, "m r"], step: Array) -> State:
        r"""The state at depth zero, from a factor $V_0 = FF^{\mathsf T}$."""
        ...

    def draw(self, block: ShapedBlock, key: Key[Array, ""], state: State, step: Array) -> PyTree:
        """The random numbers of one step."""
        ...

    def advance(self, block: ShapedBlock, state: State, drawn: PyTree, step: Array) -> State:
        """The state one step later."""
        ...

    def observed(self, block: ShapedBlock, state: State, step: Array) -> Square:
        """The covariance at the depth to which the last step led."""
        ...


def gram(factor: Float[Array, "m r"]) -> Square:
    r"""$FF^{\mathsf T}$."""
    return factor @ factor.T
