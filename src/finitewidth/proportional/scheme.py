"""The grammar of the integrators: how a path starts, which noise a step draws, and what it does with it."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import DTypeLike
from jaxtyping import Bool, Float, Key, PyTree

from .._arrays import Array
from ..networks.shaped import ShapedBlock
from ..networks.shaped.block import Square


class State(NamedTuple):
    """A path between two steps, or ready for the next."""

    V: Float[Array, "m m"]
    """The covariance, up to what `observed` adds."""
    factor: Float[Array, "m r"]
    """A factor of it."""


class Scheme(eqx.Module):
    """One step in depth time of one path, in two parts: what makes it ready, then noise.

    Only tokens that are `moving` move; the rows of the others stay, and must not matter to those."""

    stays_positive: eqx.AbstractClassVar[bool]
    """Whether no step can leave the cone of positive semi-definite matrices."""

    @abstractmethod
    def check(self, block: ShapedBlock, tokens: int, step: float) -> None:
        """Refuse blocks and steps for which the scheme is not defined."""

    def start(self, factor: Float[Array, "m r"]) -> State:
        r"""The state at depth zero, from a factor $V_0 = FF^{\mathsf T}$: as after a step of no length."""
        return State(gram(factor), factor)

    @abstractmethod
    def ready(self, block: ShapedBlock, noisy: State, last: Array, step: Array, moving: Bool[Array, " m"]) -> State:
        """What a step of length `step` starts from, after the noise of the `last` one."""

    @abstractmethod
    def draw(self, block: ShapedBlock, key: Key[Array, ""], state: State, step: Float[Array, ""]) -> PyTree:
        """The random numbers of one step."""

    @abstractmethod
    def noisy(
        self, block: ShapedBlock, state: State, drawn: PyTree, step: Float[Array, ""], moving: Bool[Array, " m"]
    ) -> State:
        r"""After the noise of a step, from a state that is ready for it."""

    @abstractmethod
    def observed_factor(
        self, block: ShapedBlock, state: State, step: Float[Array, ""], moving: Bool[Array, " m"]
    ) -> Float[Array, "m r"]:
        """A factor of the covariance at the depth to which the last step, of this length, led."""

    def observed(self, block: ShapedBlock, state: State, step: Float[Array, ""]) -> Square:
        """That covariance, of a path whose tokens all move."""
        return gram(self.observed_factor(block, state, step, jnp.ones(len(state.V), dtype=bool)))

    def advance(self, block: ShapedBlock, state: State, last: Array, drawn: PyTree, step: Float[Array, ""]) -> State:
        """The state one step later, of a path whose tokens all move."""
        moving = jnp.ones(len(state.V), dtype=bool)
        return self.noisy(block, self.ready(block, state, last, step, moving), drawn, step, moving)


def gram(factor: Float[Array, "m r"]) -> Square:
    r"""$FF^{\mathsf T}$."""
    return factor @ factor.T


def among(moving: Bool[Array, " m"], V: Square, rest: Array | float = 0.0) -> Square:
    """The entries of `V` between tokens that move, those of `rest` elsewhere."""
    return jnp.where(moving[:, None] & moving, V, rest)


def normal_matrices(key: Key[Array, ""], count: int, size: int, dtype: DTypeLike) -> Float[Array, "count size size"]:
    """`jax.random.normal`, of square matrices. Their numbers are made of uniform ones matrix by matrix, in a loop: otherwise each operation
    that needs them would make them again, and be compiled with all of that."""
    lowest = np.nextafter(np.asarray(-1.0, dtype), np.asarray(0.0, dtype))
    uniform = jax.random.uniform(key, (count, size, size), dtype, lowest, 1.0)
    return lax.map(lambda u: np.asarray(np.sqrt(2), dtype) * lax.erf_inv(u), uniform)
