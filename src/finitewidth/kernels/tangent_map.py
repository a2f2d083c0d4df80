r"""The tangent kernel of the network of infinite width, for many samples.

$$\Theta^{(\ell+1)}_{\alpha\beta} = \lambda_b^{(\ell+1)} + \lambda_W^{(\ell+1)}\langle\sigma_\alpha\sigma_\beta\rangle
  + C_W^{(\ell+1)}\langle\sigma'_\alpha\sigma'_\beta\rangle\,\Theta^{(\ell)}_{\alpha\beta}\quad\text{PDLT (8.63), (9.5)}$$
"""

from typing import Any

import jax
from jaxtyping import Float

from .._arrays import Array
from .._compile import compiled_in_haste
from .._entry import entry
from .._errors import DomainError
from ..activations import Activation
from ..gaussian.accuracy import gram_rule
from ..gaussian.pairs import PairRule
from ..networks import Layer, LayeredNetwork, as_layered
from .every_layer import every_layer
from .kernel_map import checked_if_traced, gram, largest_variance


def has_tangent_kernel(activation: Activation) -> bool:
    r"""Whether $\langle\sigma'\sigma'\rangle$ can be had: not where the activation jumps, as the square of a delta function has no
    average, nor where its slope is infinite, as that of $\sqrt{|z|}$ at zero."""
    return not activation.has_jump(0) and not activation.is_infinite(1)


def check_has_tangent_kernel(activation: Activation) -> None:
    """`DomainError` for activations that jump or are infinitely steep."""
    if has_tangent_kernel(activation):
        return
    if activation.has_jump(0):
        reason = "jumps: its slope is a delta function"
    else:
        reason = "is infinitely steep: <sigma'^2> is infinite, or out of reach of quadratures"
    got = f"{activation.name}, which {reason}"
    raise DomainError("activation", got, "a continuous activation of finite slope, which has a tangent kernel")


@entry()
def frozen_ntk(net: LayeredNetwork, x: Any) -> Float[Array, "N N"]:
    r"""The tangent kernel $\Theta^{(L)}$ of the output at infinite width, PDLT (9.5), for many samples `x`, shape (N, n_0).

    `flow(net, x, through="ntk")` gives every layer, with its fluctuations at finite width.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.frozen_ntk(net, [[1.0, 0.5], [0.3, -1.0]]).round(4).tolist()
        [[4.875, 2.1473], [2.1473, 4.635]]
    """
    return output_kernels(net, x)[1]


def output_kernels(net: LayeredNetwork, x: Any) -> tuple[Float[Array, "N N"], Float[Array, "N N"]]:
    r"""$K^{(L)}$ and $\Theta^{(L)}$ of the output at infinite width together, PDLT (4.118), (9.5)."""
    check_has_tangent_kernel(as_layered(net).activation)
    K1 = net.first_kernel(x)
    largest = largest_variance(net, K1)
    rule = gram_rule(net.activation, largest, derivatives=1)
    theta1 = net.first_tangent_kernel(net.overlap(x))
    last = _last_kernels(net.activation, net.layers[1:], K1, theta1, rule)
    return last if rule is None else checked_if_traced(net, K1, largest, last)


def tangent_kernel_recursion(
    net: LayeredNetwork, x: Float[Array, "N n_0"], kernels: Float[Array, "L N N"]
) -> Float[Array, "L N N"]:
    r"""$\Theta^{(1)}, \dots, \Theta^{(L)}$ for inputs `x` whose infinite-width `kernels` are known, PDLT (8.23), (8.63)."""
    check_has_tangent_kernel(net.activation)
    first = net.first_tangent_kernel(net.overlap(x))
    rule = gram_rule(net.activation, largest_variance(net, kernels[0]), derivatives=1)
    return _every_theta(net.activation, net.layers[1:], first, kernels, rule)


def tangent_map(
    activation: Activation, K: Float[Array, "N N"], theta: Float[Array, "N N"], layer: Layer, rule: PairRule
) -> tuple[Float[Array, "N N"], Float[Array, "N N"]]:
    r"""$K'$ and $\Theta'$ of the next layer, PDLT (4.118), (8.63)."""
    seen = layer.seen(K)
    values, slopes = gram(activation, seen, rule), layer.seen_slopes(gram(activation, seen, rule, slopes=True), K)
    return layer.kernel(values, K), layer.tangent_kernel(values, slopes, theta)


@compiled_in_haste(static_argnums=0)
def _last_kernels(
    activation: Activation,
    layers: Layer,
    K1: Float[Array, "N N"],
    theta1: Float[Array, "N N"],
    rule: PairRule,
) -> tuple[Float[Array, "N N"], Float[Array, "N N"]]:
    def step(kernels: tuple[Array, Array], layer: Layer) -> tuple[tuple[Array, Array], None]:
        return tangent_map(activation, *kernels, layer, rule), None

    return jax.lax.scan(step, (K1, theta1), layers)[0]


@compiled_in_haste(static_argnums=0)
def _every_theta(
    activation: Activation,
    layers: Layer,
    theta1: Float[Array, "N N"],
    kernels: Float[Array, "L N N"],
    rule: PairRule,
) -> Float[Array, "L N N"]:
    def step(theta: Array, before: tuple[Array, Layer]) -> Array:
        K, layer = before
        return tangent_map(activation, K, theta, layer, rule)[1]

    return every_layer(step, theta1, (kernels[:-1], layers))
