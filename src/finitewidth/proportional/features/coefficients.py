r"""What a block tells of its backward pass, as data: one compiled program serves every strength of shaping and every branch.

With the weight $\gamma_b$ of the activation and the noise $\kappa$ of the values, in backward depth time $s = T - t$,

$$\begin{aligned}
dG &= \bigl[\kappa\,(Q^{\mathsf T}\Phi^{-1}Q - r_\Phi G) + \gamma_b\,\mathsf g\circ G\bigr]ds + (\kappa\Sigma_{\rm lin}(G))^{1/2}dB,
  & G_T &= \mathbf 1\mathbf 1^{\mathsf T},\\
dQ^{\alpha\beta} &= \gamma_b\sum_\delta\mathsf t^{\beta\alpha\delta}(\Phi^{-1}Q)^{\delta\beta}ds + \sqrt{\gamma_b}\,dM^{\alpha\beta},
  & Q_T^{\alpha\beta} &= f^\alpha,
\end{aligned}$$

$d\langle M^{\alpha\beta}, M^{\gamma\delta}\rangle = \lambda^{\beta\alpha,\delta\gamma}G^{\beta\delta}ds$ (lecture 19, which has
no drift of $Q$). An MLP has $\gamma_b = \kappa = 1$; a residual branch has $\gamma_b = \gamma^2$ and the noise of its covariance,
$\kappa = \gamma^2[2 - \gamma^2(1 - n/n_h)]$.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Float

from ..._arrays import Array
from ..._errors import ArgumentError, DomainError
from ...networks.shaped import ShapedMLP, ShapedResNet
from ...networks.shaped.bends import Bends, bends_of


class Coefficients(eqx.Module):
    """The equations of one block."""

    bends: Bends
    weight: Float[Array, ""]
    r"""$\gamma_b$."""
    noise: Float[Array, ""]
    r"""$\kappa$."""


def coefficients(block: Any, trained: bool) -> Coefficients:
    """Those of a block; refused where they are not known."""
    if isinstance(block, ShapedMLP):
        return Coefficients(bends_of(block.activation), jnp.asarray(1.0), jnp.asarray(1.0))
    if isinstance(block, ShapedResNet) and not trained:
        if float(block.gamma) == 0:
            raise DomainError("gamma", 0.0, "a positive number: without branches there is nothing to train")
        return Coefficients(bends_of(block.activation), jnp.asarray(block.gamma**2), jnp.asarray(block.value_noise))
    want = "a ShapedMLP" if trained else "a ShapedMLP or a ShapedResNet"
    more = ": how training moves features is known for MLPs" if trained else ""
    raise ArgumentError("block", f"a {type(block).__name__}", want + more)
