r"""The tangent kernel of the network of infinite width in every layer: what finite networks are measured against."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..activations import Activation
from ..gaussian.accuracy import gram_rule
from ..gaussian.pairs import PairRule
from .kernel_map import gram, largest_variance
from .mlp import MLP, LayerParameters, layer_parameters
from .tangent_map import check_has_tangent_kernel


def slope_average(activation: Activation, K: Float[Array, "N N"], rule: PairRule) -> Float[Array, "N N"]:
    r"""$\langle\sigma'_\alpha\sigma'_\beta\rangle_K$."""
    return gram(activation, K, rule, slopes=True)


def tangent_kernel_recursion(
    net: MLP, x: Float[Array, "N n_0"], kernels: Float[Array, "L N N"]
) -> Float[Array, "L N N"]:
    r"""$\Theta^{(1)}, \dots, \Theta^{(L)}$ for inputs `x` whose infinite-width `kernels` are known, PDLT (8.23), PDLT (8.63)."""
    check_has_tangent_kernel(net.activation)
    first = net.lambda_b[0] + net.lambda_W[0] * x @ x.T / net.widths[0]
    rule = gram_rule(net.activation, largest_variance(net, kernels[0]), derivatives=1)
    return _iterate(net.activation, layer_parameters(net), first, kernels, rule)


@functools.partial(jax.jit, static_argnums=(0, 4))
def _iterate(
    activation: Activation,
    parameters: LayerParameters,
    first: Float[Array, "N N"],
    kernels: Float[Array, "L N N"],
    rule: PairRule,
) -> Float[Array, "L N N"]:
    def layer(theta: Array, xs: tuple[Array, LayerParameters]) -> tuple[Array, Array]:
        K, of_layer = xs
        values, slopes = gram(activation, K, rule), slope_average(activation, K, rule)
        new = of_layer.lambda_b + of_layer.lambda_W * values + of_layer.C_W * slopes * theta
        return new, new

    return jnp.concatenate([first[None], jax.lax.scan(layer, first, (kernels[:-1], parameters))[1]])
