"""The two weights of a residual block, and how they enter its noise."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..._arrays import Array, at_hand
from ..._validation import as_number, is_concrete
from .block import ShapedBlock


def as_gamma(gamma: Any) -> float | Array:
    r"""$\gamma \in [0, 1]$, or a traced number."""
    return as_number(gamma, "gamma", low=0.0, high=1.0) if is_concrete(gamma) else gamma


class ResidualBlock(ShapedBlock):
    r"""$X' = \lambda X + \gamma\,F(X)$ with $\lambda^2 + \gamma^2 = 1$: $\lambda$ weighs the shortcut, $\gamma$ the branch."""

    gamma: float | Array

    def reshaped(self, gamma: float | None = None, tau0: float | None = None) -> "ResidualBlock":
        r"""With another $\gamma$."""
        return self if gamma is None else eqx.tree_at(lambda block: block.gamma, self, as_gamma(gamma))

    @property
    def skip(self) -> Array:
        r"""$\lambda = \sqrt{1 - \gamma^2}$."""
        gamma = at_hand(self.gamma)
        return (np if is_concrete(gamma) else jnp).sqrt(1 - gamma**2)

    def residual_noise(self, branch: float) -> Array | float:
        r"""$\kappa = 2\lambda^2\gamma^2 + \gamma^4(1 + \kappa_b)$: the cross term of shortcut and branch, and the branch itself.

        $\kappa_b\Sigma_{\rm lin}/n$ is the covariance of the branch's Gram matrix before its last Gaussian matrix."""
        square = self.gamma**2
        return 2 * (1 - square) * square + square**2 * (1 + branch)
