r"""The tangent kernel of the network of infinite width, for many samples.

$$\Theta^{(\ell+1)}_{\alpha\beta} = \lambda_b^{(\ell+1)} + \lambda_W^{(\ell+1)}\langle\sigma_\alpha\sigma_\beta\rangle
  + C_W^{(\ell+1)}\langle\sigma'_\alpha\sigma'_\beta\rangle\,\Theta^{(\ell)}_{\alpha\beta}\quad\text{PDLT (8.63), (9.5)}$$
"""

from typing import Any

from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError
from ..activations import Activation
from ..gaussian.accuracy import gram_rule
from ..networks import LayeredNetwork, as_layered
from .kernel_map import checked_if_traced, largest_variance
from .pair_walk import every_kernel, last_kernels, two_kernels


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
    last = two_kernels(last_kernels(net.activation, net.layers[1:], (K1, theta1), rule))
    return last if rule is None else checked_if_traced(net, K1, largest, last)


def tangent_kernel_recursion(
    net: LayeredNetwork, x: Float[Array, "N n_0"]
) -> tuple[Float[Array, "L N N"], Float[Array, "L N N"]]:
    r"""$K^{(1)}, \dots, K^{(L)}$ and $\Theta^{(1)}, \dots, \Theta^{(L)}$ at infinite width, PDLT (4.118), (8.23), (8.63)."""
    check_has_tangent_kernel(net.activation)
    first = net.first_kernel(x), net.first_tangent_kernel(net.overlap(x))
    rule = gram_rule(net.activation, largest_variance(net, first[0]), derivatives=1)
    return two_kernels(every_kernel(net.activation, net.layers[1:], first, rule))
