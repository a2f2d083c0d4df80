r"""The flow of kernel, four-point vertex and next-to-leading metric through the layers, to order $1/n$.

With $f$ the kernel map, $T = Df$ and the width-absorbed $v = V/n_{\ell-1}$, $g_1 = G^{\{1\}}/n_{\ell-1}$,

$$K' = f(K),\qquad v' = \frac{C_W^2}{n_\ell}\,\mathrm{Cov}_K(\sigma_1\sigma_2,\sigma_3\sigma_4) + T v T^{\mathsf T},\qquad
  g_1' = T g_1 + \tfrac12 D^2f : v .$$

This is the law of total covariance applied to the random kernel. It is algebraically the same as PDLT (4.118),
PDLT (4.119) and PDLT (4.115), without their inverse kernels, and starts from $v = g_1 = 0$.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..activations import Activation
from ..gaussian.hermite import HermiteRule
from ..gaussian.pairs import PairRule
from ..networks import LayerParameters
from ..networks.every_layer import every_layer
from ..networks.pairs import PairIndex
from .kernel_derivatives import average_and_derivatives, local_block, push_matrix, push_vector
from .sources import vertex_source

State = tuple[Float[Array, " P"], Float[Array, "P P"], Float[Array, " P"]]


def layer_step(
    activation: Activation,
    state: State,
    parameters: LayerParameters,
    pairs: PairIndex,
    pair_rule: PairRule,
    product_rule: HermiteRule | None,
) -> State:
    r"""One layer of the flow of $(K, v, g_1)$, with the parameters of the new layer."""
    K, v, g1 = state
    C_b, C_W, inverse_width, *_ = parameters
    average, first, second = average_and_derivatives(activation, K, pairs, pair_rule, order=2)
    source = vertex_source(activation, K, average, pairs, product_rule)
    new_v = C_W**2 * (inverse_width * source + push_matrix(first, v, pairs))
    curvature = jnp.einsum("pst,pst->p", second, local_block(v, pairs))
    return C_b + C_W * average, new_v, C_W * (push_vector(first, g1, pairs) + curvature / 2)


def iterate(
    activation: Activation,
    parameters: LayerParameters,
    K1: Float[Array, " P"],
    pairs: PairIndex,
    pair_rule: PairRule,
    product_rule: HermiteRule | None,
) -> tuple[Float[Array, "L P"], Float[Array, "L P P"], Float[Array, "L P"]]:
    r"""$K$, $v$ and $g_1$ of every layer, from the first kernel."""
    size = len(pairs.a)
    start = (K1, jnp.zeros((size, size), K1.dtype), jnp.zeros(size, K1.dtype))

    def step(state: State, layer: LayerParameters) -> State:
        return layer_step(activation, state, layer, pairs, pair_rule, product_rule)

    return every_layer(step, start, parameters)
