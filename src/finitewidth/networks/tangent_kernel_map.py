r"""One layer's mean map on tangent kernels, and its iteration: the frozen kernel of the network of infinite width.

$$\Theta^{(\ell+1)}_{\alpha\beta} = \lambda_b^{(\ell+1)} + \lambda_W^{(\ell+1)}\langle\sigma_\alpha\sigma_\beta\rangle_{K^{(\ell)}}
  + C_W^{(\ell+1)}\langle\sigma'_\alpha\sigma'_\beta\rangle_{K^{(\ell)}}\,\Theta^{(\ell)}_{\alpha\beta}
  \quad\text{PDLT (8.63), PDLT (9.5)}$$
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..activations import Activation
from ..gaussian.accuracy import pair_rule
from ..gaussian.pairs import PairRule, pair_moment, square_average
from ..gaussian.powers import power
from .kernel_map import kernel_map, largest_variance
from .mlp import MLP


def slope_average(activation: Activation, K: Float[Array, "N N"], rule: PairRule) -> Float[Array, "N N"]:
    r"""$\langle\sigma'_\alpha\sigma'_\beta\rangle_K$."""
    variances = jnp.diagonal(K)
    off_diagonal = ~np.eye(len(variances), dtype=bool)
    between = jnp.where(off_diagonal, K, 0.0)
    pairs = pair_moment(activation, 1, 1, variances[:, None], between, variances[None, :], rule)
    return jnp.where(off_diagonal, pairs, square_average(power(activation, 0, 1), variances)[:, None])


def tangent_kernel_recursion(
    net: MLP, x: Float[Array, "N n_0"], kernels: Float[Array, "L N N"]
) -> Float[Array, "L N N"]:
    r"""$\Theta^{(1)}, \dots, \Theta^{(L)}$ for inputs `x` whose infinite-width `kernels` are known, PDLT (8.23), PDLT (8.63)."""
    first = net.lambda_b[0] + net.lambda_W[0] * x @ x.T / net.widths[0]
    rule = pair_rule(net.activation, largest_variance(net, kernels[0]), derivatives=1)
    return _iterate(net.activation, (net.C_W[1:], net.lambda_b[1:], net.lambda_W[1:]), first, kernels, rule)


@functools.partial(jax.jit, static_argnums=(0, 4))
def _iterate(
    activation: Activation,
    parameters: tuple[Array, Array, Array],
    first: Float[Array, "N N"],
    kernels: Float[Array, "L N N"],
    rule: PairRule,
) -> Float[Array, "L N N"]:
    def layer(theta: Array, xs: tuple[Array, ...]) -> tuple[Array, Array]:
        K, C_W, lambda_b, lambda_W = xs
        new = kernel_map(activation, K, lambda_b, lambda_W, rule) + C_W * slope_average(activation, K, rule) * theta
        return new, new

    return jnp.concatenate([first[None], jax.lax.scan(layer, first, (kernels[:-1], *parameters))[1]])
