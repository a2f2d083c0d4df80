r"""Plain Euler-Maruyama, $V + b\Delta + \Sigma^{1/2}\sqrt\Delta$: it leaves the positive cone, and is here to be compared with."""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Key

from .._arrays import Array
from ..gaussian.root import covariance_root
from ..networks.shaped import ShapedBlock
from .scheme import Scheme, State, among, gram


class EulerStep(Scheme):
    """For comparison only."""

    stays_positive: ClassVar[bool] = False

    def check(self, block: ShapedBlock, tokens: int, step: float) -> None:
        """Every block and every step will do: leaving the cone is what it is here to show."""

    def start(self, factor: Float[Array, "m r"]) -> State:
        """The covariance and a square root of it."""
        V = gram(factor)
        return State(V, covariance_root(V))

    def draw(
        self, block: ShapedBlock, key: Key[Array, ""], state: State, step: Float[Array, ""]
    ) -> Float[Array, "1+{block.mixings} r r"]:
        """One Gaussian matrix for the values, one for each mixing."""
        return jax.random.normal(key, (1 + block.mixings, *state.V.shape), state.V.dtype)

    def noisy(
        self, block: ShapedBlock, state: State, drawn: Array, step: Float[Array, ""], moving: Bool[Array, " m"]
    ) -> State:
        """A straight step; the root of an indefinite matrix is meaningless, and the caller stops such a path."""
        V, factor = among(moving, state.V), jnp.where(moving[:, None], state.factor, 0.0)
        V = V + step * block.drift_inside(V) + jnp.sqrt(step) * block.noise_from(drawn, factor)
        V = among(moving, V, state.V)
        return State(V, covariance_root(V))

    def ready(self, block: ShapedBlock, noisy: State, last: Array, step: Array, moving: Bool[Array, " m"]) -> State:
        """Nothing to prepare."""
        return noisy

    def observed_factor(
        self, block: ShapedBlock, state: State, step: Float[Array, ""], moving: Bool[Array, " m"]
    ) -> Float[Array, "m m"]:
        """A root of the covariance."""
        return state.factor
