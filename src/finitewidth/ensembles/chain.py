r"""The kernel Markov chain: networks without weights.

Given the metric of a layer its neurons are independent Gaussians, and the next metric is their average,

$$z^{(\ell)}_{i;\cdot}\,|\,\widehat G^{(\ell)} \sim N(0, \widehat G^{(\ell)})\ \text{PDLT (4.69)},\qquad
  \widehat G^{(\ell+1)}_{\alpha\beta} = C_b^{(\ell+1)} + \frac{C_W^{(\ell+1)}}{n_\ell}
  \sum_{j=1}^{n_\ell}\sigma^{(\ell)}_{j;\alpha}\sigma^{(\ell)}_{j;\beta}\ \text{PDLT (4.70)},$$

so that the metric alone is a Markov chain, started at the first-layer kernel.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Float, Int, Key

from .._arrays import Array
from ..activations import Activation
from ..gaussian.root import pivoted_root
from ..networks import Layer
from ..networks.layer import kernel_of
from .neurons import gram_of_neurons


def metric_chain(
    key: Key[Array, ""],
    first: Float[Array, "N N"],
    activation: Activation,
    hidden_widths: Int[Array, " later"],
    layers: Layer,
    block: int,
) -> Float[Array, "later N N"]:
    r"""Metrics $\widehat G^{(2)}, \dots, \widehat G^{(L)}$ of one network, PDLT (4.69)-(4.70).

    `layers` are $2..L$. Neurons are drawn `block` at a time; widths are ordinary values.
    """

    def step(carry: tuple[Array, Array], xs: tuple[Array, Layer]) -> tuple[tuple[Array, Array], Array]:
        (metric, first_block), (width, layer) = carry, xs
        metric = next_metric(key, metric, activation, width, first_block, layer, block)
        return (metric, first_block - -width // block), metric

    return lax.scan(step, (first, jnp.zeros((), hidden_widths.dtype)), (hidden_widths, layers))[1]


def next_metric(
    key: Key[Array, ""],
    metric: Float[Array, "N N"],
    activation: Activation,
    width: Int[Array, ""],
    first_block: Int[Array, ""],
    layer: Layer,
    block: int,
) -> Float[Array, "N N"]:
    """One step of the chain, PDLT (4.69)-(4.70)."""
    total = gram_of_neurons(key, pivoted_root(metric), activation, width, block, first_block)
    return kernel_of(layer.C_b, layer.C_W / width, total)


def first_blocks(hidden_widths: Int[Array, " later"], block: int) -> Int[Array, " later"]:
    """The number of each layer's first block of neurons: blocks are numbered through the network."""
    blocks = -(-hidden_widths // block)
    return jnp.cumsum(blocks) - blocks
