"""Vectors that become more and more: rows in blocks of one shape."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float, Int

from ..._arrays import Array

BLOCK = 64
"""Rows of a block: every product is made of products with whole blocks, so that one compiled program serves however many rows."""


class GrowingRows:
    """Vectors of one length, which stay where they are when others join. Rows of the last block not yet taken are zero."""

    def __init__(self, length: int):
        self.length, self.count = length, 0
        self.blocks: list[jax.Array] = []

    def overlaps(self, vectors: Float[Array, "m n"]) -> Float[np.ndarray, "m count"]:
        """The scalar products of `vectors` with all rows."""
        found = [scalar_products(block, vectors) for block in self.blocks]
        return np.concatenate([np.zeros((0, len(vectors))), *found])[: self.count].T

    def plus_combined(self, start: jax.Array, coefficients: Float[np.ndarray, "m count"]) -> jax.Array:
        """`start`, whose memory is taken over, and the rows weighted by `coefficients`, summed."""
        padded = np.zeros((len(coefficients), BLOCK * len(self.blocks)))
        padded[:, : self.count] = coefficients
        for number, block in enumerate(self.blocks):
            start = _plus(start, padded[:, BLOCK * number : BLOCK * (number + 1)], block)
        return start

    def append(self, rows: Float[Array, "m n"], count: int) -> None:
        """The first `count` of `rows` join; their number is an ordinary value, not compiled in."""
        done = 0
        while done < count:
            at = self.count % BLOCK
            if at == 0:
                self.blocks.append(jnp.zeros((BLOCK, self.length)))
            fit = min(count - done, BLOCK - at)
            self.blocks[-1] = _put(self.blocks[-1], rows, at, done, fit)
            self.count, done = self.count + fit, done + fit

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Float[np.ndarray, "count n"]:
        return np.concatenate([np.zeros((0, self.length)), *self.blocks])[: self.count].astype(dtype)


@jax.jit
def scalar_products(rows: Float[Array, "b n"], vectors: Float[Array, "m n"]) -> Float[Array, "b m"]:
    """Of every row with every vector: XLA takes ten times as long with the smaller of the two first."""
    return rows @ vectors.T


@partial(jax.jit, donate_argnums=0)
def _plus(start: Float[Array, "m n"], coefficients: Float[Array, "m b"], block: Float[Array, "b n"]) -> Array:
    return start + coefficients @ block


@partial(jax.jit, donate_argnums=0)
def _put(
    block: Float[Array, "b n"],
    rows: Float[Array, "m n"],
    at: Int[Array, ""] | int,
    first: Int[Array, ""] | int,
    count: Int[Array, ""] | int,
) -> Float[Array, "b n"]:
    """Rows `first`, `first + 1`, ... written into a block, in place."""

    def put(i: Array, block: Array) -> Array:
        row = lax.dynamic_slice(rows, (first + i, 0), (1, rows.shape[1]))
        return lax.dynamic_update_slice(block, row, (at + i, 0))

    return lax.fori_loop(0, count, put, block)
