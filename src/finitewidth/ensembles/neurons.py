"""Neurons, drawn some at a time from the covariance of what they see."""

import jax.numpy as jnp
from jax import lax
from jax.random import fold_in
from jaxtyping import Float, Int, Key

from .._arrays import Array
from ..activations import Activation
from .normals import standard_normals

# Up to this many samples XLA's fused loops beat its matrix products of so few rows.
_FEW_SAMPLES = 8

# What a block costs beyond its rows, in rows (measured).
_BLOCK_OVERHEAD = 24


def rows_per_block(widths: tuple[int, ...]) -> int:
    """How many neurons to draw at a time: a compromise of idle rows in the last block and the overhead of many."""

    def cost(rows: int) -> int:
        return sum(-(-width // rows) * (rows + _BLOCK_OVERHEAD) for width in widths)

    return min((16, 32, 64, 128, 256), key=cost)


def gram_of_neurons(
    key: Key[Array, ""],
    root: Float[Array, "N r"],
    activation: Activation,
    neurons: int | Int[Array, ""],
    block: int,
    first_block: int | Int[Array, ""] = 0,
) -> Float[Array, "N N"]:
    r"""$\sum_j\sigma(z_j)\sigma(z_j)^{\mathsf T}$ over `neurons` independent $z_j \sim N(0, LL^{\mathsf T})$, $L$ = `root`.

    They are drawn `block` at a time, in as many rounds as it takes: their number may be an ordinary value, so that one
    compiled program serves all, and memory does not grow with it. Rounds are numbered from `first_block`, each with a
    key of its own.
    """
    few = len(root) <= _FEW_SAMPLES

    def add_neurons(i: Array, total: Array) -> Array:
        u = standard_normals(fold_in(key, first_block + i), (root.shape[1], block), root.dtype)
        z = jnp.sum(root[:, :, None] * u, axis=1) if few else root @ u
        exists = i * block + jnp.arange(block) < neurons
        signal = jnp.where(exists, activation(z), 0)
        return total + (jnp.sum(signal[:, None] * signal, axis=-1) if few else signal @ signal.T)

    return lax.fori_loop(0, -(-neurons // block), add_neurons, jnp.zeros((len(root), len(root)), root.dtype))
