"""Unordered pairs of samples: the index in which kernels are vectors and vertices are matrices."""

import functools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from .._arrays import Array


@dataclass(frozen=True, eq=False)
class PairIndex:
    """The P = N(N+1)/2 pairs (a, b), a <= b, of N samples, in the order of `np.triu_indices`."""

    a: Int[np.ndarray, " P"]
    b: Int[np.ndarray, " P"]
    of: Int[np.ndarray, "N N"]
    """`of[a, b]` is the position of the pair (a, b) or (b, a)."""

    @property
    def diagonal(self) -> Int[np.ndarray, " N"]:
        """Positions of the pairs (a, a)."""
        return np.diagonal(self.of)

    @property
    def local(self) -> Int[np.ndarray, "P 3"]:
        """For each pair (a, b) the positions of (a, a), (a, b), (b, b): all that its next kernel depends on."""
        return np.stack([self.diagonal[self.a], np.arange(len(self.a)), self.diagonal[self.b]], axis=1)

    def pack(self, matrix: Float[Array, "*batch N N"]) -> Float[Array, "*batch P"]:
        """Symmetric matrices as vectors over pairs."""
        return matrix[..., self.a, self.b]

    def unpack(self, vector: Float[Array, "*batch P"]) -> Float[Array, "*batch N N"]:
        """Vectors over pairs as symmetric matrices."""
        return vector[..., self.of]

    def unpack_twice(self, matrix: Float[Array, "*batch P P"]) -> Float[Array, "*batch N N N N"]:
        """Matrices over pairs as tensors with four sample indices."""
        return matrix[..., self.of[:, :, None, None], self.of[None, None, :, :]]


@functools.lru_cache(maxsize=64)
def pair_index(samples: int) -> PairIndex:
    """The pairs of `samples` samples."""
    a, b = np.triu_indices(samples)
    of = np.zeros((samples, samples), dtype=int)
    of[a, b] = of[b, a] = np.arange(len(a))
    return PairIndex(a, b, of)
