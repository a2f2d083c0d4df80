r"""Kernel map, then Wishart noise: a network layer of width $1/(\kappa\Delta)$.

$$\widetilde V = V + b(V)\Delta,\qquad V' = \widetilde L\,W\widetilde L^{\mathsf T}/\nu,\quad
  W \sim \mathcal W_m(\nu, I),\ \nu = 1/(\kappa\Delta).$$

Mean and covariance of the step are exact, and it stays positive; $\nu$ need not be an integer but must exceed $m - 1$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Key

from .._arrays import Array
from .._errors import ArgumentError, DomainError
from ..gaussian.root import covariance_root
from ..networks.shaped import ShapedBlock
from .exponential_step import check_kernel_map
from .scheme import Scheme, State, among, gram


class KernelWishartStep(Scheme):
    """Positive, of weak order one; for blocks whose drift is a kernel map and whose noise is that of values."""

    stays_positive: ClassVar[bool] = True

    def check(self, block: ShapedBlock, tokens: int, step: float) -> None:
        """No attention, no drift beside the kernel's, and at least `tokens` degrees of freedom."""
        if block.mixings or block.generator(jnp.eye(tokens)) is not None:
            raise ArgumentError("method", "'kernel-wishart' for this block", "'exponential': it has more than a kernel")
        check_kernel_map(block, step)
        noise = float(block.value_noise)
        if noise * step * (tokens - 1) >= 1:
            limit = f"steps below {1 / (noise * (tokens - 1)):.3g}: more `steps`"
            raise DomainError("steps", f"steps of {step:.3g} in depth time, too large for a Wishart matrix", limit)

    def start(self, factor: Float[Array, "m r"]) -> State:
        """With as many columns as rows, which all factors have here."""
        m, rank = factor.shape
        return super().start(jnp.pad(factor, ((0, 0), (0, m - rank))))

    def draw(
        self, block: ShapedBlock, key: Key[Array, ""], state: State, step: Float[Array, ""]
    ) -> Float[Array, "m m"]:
        r"""Bartlett's factor of $\mathcal W_m(\nu, I)/\nu$: normals below the diagonal, roots of $\chi^2_{\nu-i+1}$ on it."""
        m = len(state.V)
        noise = jnp.asarray(block.value_noise * step)
        silent = noise == 0  # infinitely many degrees of freedom: the matrix is the identity
        degrees = 1 / jnp.where(silent, 1 / m, noise)
        below, diagonal = jax.random.split(key)
        normals = jnp.tril(jax.random.normal(below, (m, m), state.V.dtype), -1)
        chi_squared = 2 * jax.random.gamma(diagonal, (degrees - jnp.arange(m)) / 2, dtype=state.V.dtype)
        factor = (normals + jnp.diag(jnp.sqrt(chi_squared))) / jnp.sqrt(degrees)
        return jnp.where(silent, jnp.eye(m, dtype=factor.dtype), factor)

    def noisy(
        self, block: ShapedBlock, state: State, drawn: Array, step: Float[Array, ""], moving: Bool[Array, " m"]
    ) -> State:
        """The Wishart matrix in the frame of the mapped kernel."""
        factor = jnp.where(moving[:, None], state.factor @ drawn, state.factor)
        return State(gram(factor), factor)

    def ready(self, block: ShapedBlock, noisy: State, last: Array, step: Array, moving: Bool[Array, " m"]) -> State:
        """The kernel map."""
        start = among(moving, noisy.V)
        mapped = among(moving, start + step * block.drift_inside(start), noisy.V)
        return State(mapped, covariance_root(mapped))

    def observed_factor(
        self, block: ShapedBlock, state: State, step: Float[Array, ""], moving: Bool[Array, " m"]
    ) -> Float[Array, "m m"]:
        """A root of the covariance."""
        return covariance_root(state.V)
