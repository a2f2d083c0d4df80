"""Hidden units, drawn from the covariance of what they see."""

import jax.numpy as jnp
from jax import lax
from jax.random import fold_in
from jaxtyping import Array, Float, Key

from ...activations import Activation
from ..chain import rows_per_block
from ..normals import standard_normals

# Up to this many tokens XLA's fused loops beat its matrix products of so few rows.
_FEW_TOKENS = 8


def gram_of_units(
    key: Key[Array, ""], root: Float[Array, "m r"], activation: Activation, units: int
) -> Float[Array, "m m"]:
    r"""$\sum_j\varphi(h_j)\varphi(h_j)^{\mathsf T}$ over `units` independent $h_j \sim N(0, LL^{\mathsf T})$, $L$ = `root`.

    They are drawn some at a time: memory does not grow with the width.
    """
    rows, few = rows_per_block((units,)), len(root) <= _FEW_TOKENS

    def add_units(i: Array, total: Array) -> Array:
        u = standard_normals(fold_in(key, i), (root.shape[1], rows), root.dtype)
        h = jnp.sum(root[:, :, None] * u, axis=1) if few else root @ u
        exists = i * rows + jnp.arange(rows) < units
        signal = jnp.where(exists, activation(h), 0)
        return total + (jnp.sum(signal[:, None] * signal, axis=-1) if few else signal @ signal.T)

    return lax.fori_loop(0, -(-units // rows), add_units, jnp.zeros((len(root), len(root)), root.dtype))
