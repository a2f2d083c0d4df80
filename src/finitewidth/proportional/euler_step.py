r"""Plain Euler-Maruyama, $V + b\Delta + \Sigma^{1/2}\sqrt\Delta$: it leaves the positive cone, and is here to be compared with."""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Float, Key

from .._arrays import Array
from ..gaussian.root import covariance_root
from ..networks.shaped import ShapedBlock
from ..networks.shaped.block import Square
from .scheme import Scheme, State, gram


class EulerStep(Scheme):
    """For comparison only."""

    stays_positive: ClassVar[bool] = False

    def check(self, block: ShapedBlock, tokens: int, step: float) -> None:
        """Every block and every step will do: leaving the cone is what it is here to show."""

    def start(self, block: ShapedBlock, factor: Float[Array, "m r"], step: Float[Array, ""]) -> State:
        """The covariance and any root of it."""
        V = gram(factor)
        return State(V, covariance_root(V))

    def draw(
        self, block: ShapedBlock, key: Key[Array, ""], state: State, step: Float[Array, ""]
    ) -> Float[Array, "1+{block.mixings} r r"]:
        """One Gaussian matrix for the values, one for each mixing."""
        return jax.random.normal(key, (1 + block.mixings, *state.V.shape), state.V.dtype)

    def advance(self, block: ShapedBlock, state: State, drawn: Array, step: Float[Array, ""]) -> State:
        """A straight step; the root of an indefinite matrix is meaningless, and the caller stops such a path."""
        V = state.V + step * block.drift_inside(state.V) + jnp.sqrt(step) * block.noise_from(drawn, state.factor)
        return State(V, covariance_root(V))

    def observed(self, block: ShapedBlock, state: State, step: Float[Array, ""]) -> Square:
        """The covariance itself."""
        return state.V
