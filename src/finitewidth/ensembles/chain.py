r"""The kernel Markov chain: networks without weights.

Given the metric of a layer its neurons are independent Gaussians, and the next metric is their average,

$$z^{(\ell)}_{i;\cdot}\,|\,\widehat G^{(\ell)} \sim N(0, \widehat G^{(\ell)})\ \text{PDLT (4.69)},\qquad
  \widehat G^{(\ell+1)}_{\alpha\beta} = C_b^{(\ell+1)} + \frac{C_W^{(\ell+1)}}{n_\ell}
  \sum_{j=1}^{n_\ell}\sigma^{(\ell)}_{j;\alpha}\sigma^{(\ell)}_{j;\beta}\ \text{PDLT (4.70)},$$

so that the metric alone is a Markov chain, started at the first-layer kernel.
"""

import jax.numpy as jnp
from jax import lax
from jax.random import fold_in
from jaxtyping import Array, Float, Int, Key

from ..activations import Activation
from ..networks.shaped.root import pivoted_root
from .normals import standard_normals

# Up to this many samples XLA's fused loops beat its batched matrix products.
_FEW_SAMPLES = 8

# What a block costs beyond its rows, in rows (measured).
_BLOCK_OVERHEAD = 24


def rows_per_block(hidden_widths: tuple[int, ...]) -> int:
    """How many neurons to draw at a time: a compromise of idle rows in the last block and the overhead of many."""

    def cost(rows: int) -> int:
        return sum(-(-width // rows) * (rows + _BLOCK_OVERHEAD) for width in hidden_widths)

    return min((16, 32, 64, 128, 256), key=cost)


def metric_chain(
    key: Key[Array, ""],
    first: Float[Array, "N N"],
    activation: Activation,
    hidden_widths: Int[Array, " later"],
    C_b: Float[Array, " later"],
    C_W: Float[Array, " later"],
    block: int,
) -> Float[Array, "later N N"]:
    r"""Metrics $\widehat G^{(2)}, \dots, \widehat G^{(L)}$ of one network, PDLT (4.69)-(4.70).

    `C_b`, `C_W` are those of layers $2..L$. Neurons are drawn `block` at a time, in as many rounds as a layer's width
    asks for: widths are ordinary values, one compiled program serves them all, and memory does not grow with them.
    """
    samples = len(first)
    blocks = -(-hidden_widths // block)
    first_blocks = jnp.cumsum(blocks) - blocks  # blocks are numbered through the network: each has its own key

    def layer(metric: Array, xs: tuple[Array, ...]) -> tuple[Array, Array]:
        width, blocks, first_block, C_b, C_W = xs
        root = pivoted_root(metric)

        def add_neurons(i: Array, total: Array) -> Array:
            u = standard_normals(fold_in(key, first_block + i), (samples, block), first.dtype)
            exists = i * block + jnp.arange(block) < width
            signal = jnp.where(exists, activation(_product(root, u)), 0)
            return total + _gram(signal)

        total = lax.fori_loop(0, blocks, add_neurons, jnp.zeros_like(first))
        metric = C_b + C_W / width * total
        return metric, metric

    return lax.scan(layer, first, (hidden_widths, blocks, first_blocks, C_b, C_W))[1]


def _product(root: Float[Array, "N N"], u: Float[Array, "N block"]) -> Float[Array, "N block"]:
    return jnp.sum(root[:, :, None] * u, axis=1) if len(root) <= _FEW_SAMPLES else root @ u


def _gram(signal: Float[Array, "N block"]) -> Float[Array, "N N"]:
    return jnp.sum(signal[:, None] * signal, axis=-1) if len(signal) <= _FEW_SAMPLES else signal @ signal.T
