r"""One input one order beyond the book: mean and variance of the metric to second order in $1/n$, for any activation.

A layer maps the metric $\hat G$ of one input, of mean $K + g_1 + \dots$, variance $v_1 + v_2 + \dots$ and third cumulant $u$, to an
average of $n$ independent terms of mean $f(\hat G)$, variance $c(\hat G)$ and third cumulant $c_3(\hat G)$. The law of total cumulance,
expanded about $K$, is

$$v_1' = \tfrac cn + f_1^2v_1,\quad g_1' = f_1g_1 + \tfrac12f_2v_1,\quad
  u' = \tfrac{c_3}{n^2} + \tfrac3nc'f_1v_1 + f_1^3u + 3f_2f_1^2v_1^2,$$

$$g_2' = f_1g_2 + \tfrac12f_2(v_2 + g_1^2) + \tfrac16f_3(u + 3v_1g_1) + \tfrac18f_4v_1^2,$$

$$v_2' = \tfrac1n[c'g_1 + \tfrac12c''v_1] + f_1^2v_2 + 2f_1f_2g_1v_1 + f_1f_2u + f_1f_3v_1^2 + \tfrac12f_2^2v_1^2,$$

the one-input case of `flow(..., next_order=True)`. Derivatives in $K$ are averages with Hermite polynomials,
$\frac{d^k}{dK^k}\langle F\rangle_K = (2K)^{-k}\langle F\,\mathrm{He}_{2k}(z/\sqrt K)\rangle_K$, PDLT (5.53), so that kinks do no harm.
"""

from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ...activations import Activation
from ...gaussian.line import line_rule
from ...kernels.every_layer import every_layer
from ...networks import Layer


class SecondOrder(NamedTuple):
    """The cumulants of one input's metric, layer by layer."""

    K: Float[Array, "*L"]
    v1: Float[Array, "*L"]
    g1: Float[Array, "*L"]
    u: Float[Array, "*L"]
    v2: Float[Array, "*L"]
    g2: Float[Array, "*L"]


def _step(activation: Activation, state: SecondOrder, layer: Layer) -> SecondOrder:
    K, v, g1, u, v2, g2 = state
    z, weights = line_rule(K, activation.kinks)
    square, x2 = activation(z) ** 2, z**2 / K
    hermite = (jnp.ones_like(x2), x2 - 1, (x2 - 6) * x2 + 3, ((x2 - 15) * x2 + 45) * x2 - 15)
    hermite += ((((x2 - 28) * x2 + 210) * x2 - 420) * x2 + 105,)

    def derivatives(power: int, most: int) -> list[Array]:
        values = weights * square**power
        return [jnp.sum(values * hermite[k]) / (2 * K) ** k for k in range(most + 1)]

    (m2, *slopes), (m4, m4_1, m4_2), (m6,) = derivatives(1, 4), derivatives(2, 2), derivatives(3, 0)
    C, inverse = layer.C_W, layer.inverse_width
    f1, f2, f3, f4 = (C * slope for slope in slopes)
    c, c_1, c_2 = (
        C**2 * part for part in (m4 - m2**2, m4_1 - 2 * m2 * slopes[0], m4_2 - 2 * slopes[0] ** 2 - 2 * m2 * slopes[1])
    )
    c3 = C**3 * (m6 - 3 * m4 * m2 + 2 * m2**3)
    return SecondOrder(
        layer.kernel(m2),
        inverse * c + f1**2 * v,
        f1 * g1 + f2 * v / 2,
        inverse**2 * c3 + 3 * inverse * c_1 * f1 * v + f1**3 * u + 3 * f2 * f1**2 * v**2,
        inverse * (c_1 * g1 + c_2 * v / 2)
        + f1**2 * v2
        + f1 * (2 * f2 * g1 * v + f2 * u + f3 * v**2)
        + f2**2 * v**2 / 2,
        f1 * g2 + f2 * (v2 + g1**2) / 2 + f3 * (u + 3 * v * g1) / 6 + f4 * v**2 / 8,
    )


@compiled_in_haste(light=5000, static_argnums=0)
def second_order(activation: Activation, K1: Float[Array, ""], layers: Layer) -> SecondOrder:
    """Every layer from the first, of kernel `K1`; `layers` are all but that."""
    zero = jnp.zeros_like(K1)
    return every_layer(partial(_step, activation), SecondOrder(K1, zero, zero, zero, zero, zero), layers)
