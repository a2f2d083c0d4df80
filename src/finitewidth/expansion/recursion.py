r"""The flow of kernel, four-point vertex and next-to-leading metric through the layers, to order $1/n$.

With $f$ the kernel map, $T = Df$ and the width-absorbed $v = V/n_{\ell-1}$, $g_1 = G^{\{1\}}/n_{\ell-1}$,

$$K' = f(K),\qquad v' = \frac{C_W^2}{n_\ell}\,\mathrm{Cov}_K(\sigma_1\sigma_2,\sigma_3\sigma_4) + T v T^{\mathsf T},\qquad
  g_1' = T g_1 + \tfrac12 D^2f : v .$$

This is the law of total covariance applied to the random kernel. It is algebraically the same as PDLT (4.118),
PDLT (4.119) and PDLT (4.115), without their inverse kernels, and starts from $v = g_1 = 0$.
"""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array, at_hand
from .._compile import compiled_in_haste
from ..activations import Activation
from ..gaussian.accuracy import pair_rule as choose_pair_rule, product_rule as choose_product_rule
from ..gaussian.grid import elsewhere as on_other_grids
from ..gaussian.pairs import PairRule
from ..gaussian.products import ProductRule
from ..kernels.every_layer import every_layer
from ..kernels.pairs import PairIndex, pair_index
from ..networks import Layer, LayeredNetwork
from ..results import Metric
from .kernel_derivatives import average_and_derivatives, local_block, push_matrix, push_vector
from .sources import vertex_source

State = tuple[Float[Array, " P"], Float[Array, "P P"], Float[Array, " P"]]


def layer_step(
    activation: Activation,
    state: State,
    layer: Layer,
    pairs: PairIndex,
    pair_rule: PairRule,
    product_rule: ProductRule,
) -> State:
    r"""One layer of the flow of $(K, v, g_1)$, with the parameters of the new layer."""
    K, v, g1 = state
    average, first, second = average_and_derivatives(activation, K, pairs, pair_rule, order=2)
    source = vertex_source(activation, K, average, pairs, product_rule)
    new_v = layer.covariance(source, push_matrix(first, v, pairs))
    curvature = jnp.einsum("pst,pst->p", second, local_block(v, pairs))
    return layer.kernel(average), new_v, layer.C_W * (push_vector(first, g1, pairs) + curvature / 2)


def iterate(
    activation: Activation,
    layers: Layer,
    K1: Float[Array, " P"],
    pairs: PairIndex,
    pair_rule: PairRule,
    product_rule: ProductRule,
) -> tuple[Float[Array, "L P"], Float[Array, "L P P"], Float[Array, "L P"]]:
    r"""$K$, $v$ and $g_1$ of every layer, from the first kernel."""
    size = len(pairs.a)
    start = (K1, jnp.zeros((size, size), K1.dtype), jnp.zeros(size, K1.dtype))

    def step(state: State, layer: Layer) -> State:
        return layer_step(activation, state, layer, pairs, pair_rule, product_rule)

    return every_layer(step, start, layers)


_compiled = compiled_in_haste(static_argnums=(0, 3))(iterate)


def metric_flow(
    net: LayeredNetwork,
    K1: Float[Array, "N N"],
    largest: float,
    iterated: Callable[..., tuple] = _compiled,
    elsewhere: bool = False,
) -> tuple[Float[Array, "L N N"], Metric[Array]]:
    """The kernel and the group `metric`, for kernels of at most the `largest` variance; `iterated` is `iterate`, or another way
    through the layers, compiled. With `elsewhere`, on grids whose points stand elsewhere: what differs is the error."""
    pairs, sigma = pair_index(len(K1)), net.activation
    rules = choose_pair_rule(sigma, largest, derivatives=4), choose_product_rule(sigma, largest)
    rules = on_other_grids(rules) if elsewhere else rules
    K, v, g1 = at_hand(iterated(sigma, net.layers[1:], pairs.pack(K1), pairs, *rules))
    return metric_group(net, pairs, K, v, g1)


def metric_group(
    net: LayeredNetwork, pairs: PairIndex, K: Float[Array, "L P"], v: Float[Array, "L P P"], g1: Float[Array, "L P"]
) -> tuple[Float[Array, "L N N"], Metric[Array]]:
    """Kernel and metric with sample indices, in units of the width."""
    kernel, correction = pairs.unpack(K), pairs.unpack(g1)
    V, G1 = in_units_of_width(net, pairs.unpack_twice(v)), in_units_of_width(net, correction)
    return kernel, Metric(G1=G1, G=kernel + correction, V=V)


def in_units_of_width(net: LayeredNetwork, tensor: Float[Array, "L *rest"], power: int = 1) -> Float[Array, "L *rest"]:
    r"""$n_{\ell-1}$ times the tensors of every layer, or a power of it."""
    widths = np.asarray(net.widths[:-1], dtype=float) ** power
    return tensor * widths.reshape(-1, *[1] * (tensor.ndim - 1))
