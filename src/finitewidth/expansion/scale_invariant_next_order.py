r"""The next order of one input and an activation of two lines that meet at zero, where every moment of the metric is a polynomial.

Given the metric $G$ of a layer, that of the next is $C_b + \frac{C_W}nG\sum_jx_j$ with independent $x_j = \sigma(u_j)^2$ of standard normal
$u_j$, so that with $A_p = (a_+^p + a_-^p)/2$, $v = 3A_4 - A_2^2$ and $k_3 = 15A_6 - 9A_4A_2 + 2A_2^3$ the cumulants obey

$$K' = C_b + C_WA_2K,\quad \mathrm{Var}' = C_W^2\Big[\tfrac vnE[G^2] + A_2^2\mathrm{Var}\Big],\quad
  \kappa_3' = C_W^3\Big[\tfrac{k_3}{n^2}K^3 + \tfrac{6A_2v}nK\,\mathrm{Var} + A_2^3\kappa_3\Big] + O(n^{-3}),$$

which is PDLT (ε.20) for ReLU: $\kappa_3 = U/n^2$, $U' = \frac18C_W^3[U + 30VK + 44K^3]$. The mean has no corrections.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from ..activations import ScaleInvariant
from ..kernels.every_layer import every_layer
from ..networks import Layer


class OneInput(NamedTuple):
    """Kernel, variance of the metric at its first two orders, and third cumulant, absorbed widths."""

    K: Float[Array, ""]
    v1: Float[Array, ""]
    v2: Float[Array, ""]
    u: Float[Array, ""]


def scale_invariant_cumulants(activation: ScaleInvariant, layers: Layer, K1: Float[Array, ""]) -> OneInput:
    """Every layer, stacked, from the first kernel, whose fluctuations vanish."""
    A2, A4 = activation.A2, activation.A4
    A6 = (activation.a_plus**6 + activation.a_minus**6) / 2
    spread, third = 3 * A4 - A2**2, 15 * A6 - 9 * A4 * A2 + 2 * A2**3

    def step(state: OneInput, layer: Layer) -> OneInput:
        K, v1, v2, u = state
        C, share = layer.C_W, layer.inverse_width
        return OneInput(
            layer.kernel(A2 * K),
            C**2 * (share * spread * K**2 + A2**2 * v1),
            C**2 * (share * spread * v1 + A2**2 * v2),
            C**3 * (share**2 * third * K**3 + 6 * share * A2 * spread * K * v1 + A2**3 * u),
        )

    zero = jnp.zeros_like(K1)
    return every_layer(step, OneInput(K1, zero, zero, zero), layers)
