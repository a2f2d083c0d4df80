r"""A Gaussian matrix, stored or known only through the products asked of it.

A random matrix $W$ shows itself only through $Wu$ and $W^{\mathsf T}v$. Keep an orthonormal basis $U$ of the directions
asked from the right with $Y = WU$, and $V$ of those asked from the left with $X = W^{\mathsf T}V$. Given these,

$$W = YU^{\mathsf T} + VX^{\mathsf T} - V(V^{\mathsf T}Y)U^{\mathsf T}
    + (1 - VV^{\mathsf T})\,Z\,(1 - UU^{\mathsf T}),$$

where $Z$ is a fresh copy of $W$, independent of all answers so far. So the answer to a unit vector $q \perp U$ is
$Wq = VX^{\mathsf T}q + (1 - VV^{\mathsf T})\,\xi$ with fresh Gaussian $\xi$: exact in law, whatever the questions
and however they depend on earlier answers, at $O(nk)$ for a product after $k$ others.
"""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.random import fold_in
from jaxtyping import Float, Key

from .._arrays import Array
from .normals import standard_normals


class GaussianMatrix(eqx.Module):
    r"""A matrix $W$ of shape (rows, columns) with independent entries of law $N(0, \text{variance})$.

    Products return the answer and the matrix that remembers it: ask that one next.
    """

    @abstractmethod
    def times(self, u: Float[Array, "k columns"]) -> tuple[Float[Array, "k rows"], "GaussianMatrix"]:
        """$W u$ for each row of `u`."""

    @abstractmethod
    def transposed(self) -> "GaussianMatrix":
        r"""$W^{\mathsf T}$."""

    def transpose_times(self, v: Float[Array, "k rows"]) -> tuple[Float[Array, "k columns"], "GaussianMatrix"]:
        r"""$W^{\mathsf T} v$ for each row of `v`."""
        answers, asked = self.transposed().times(v)
        return answers, asked.transposed()


class DenseGaussian(GaussianMatrix):
    """All entries, stored."""

    entries: Float[Array, "rows columns"]

    def __init__(self, key: Key[Array, ""], shape: tuple[int, int], variance: Float[Array, ""] | float):
        variance = jnp.asarray(variance)
        self.entries = jnp.sqrt(variance) * standard_normals(key, shape, variance.dtype)

    def times(self, u: Float[Array, "k columns"]) -> tuple[Float[Array, "k rows"], "DenseGaussian"]:
        """$W u$ for each row of `u`."""
        return u @ self.entries.T, self

    def transposed(self) -> "DenseGaussian":
        r"""$W^{\mathsf T}$."""
        return eqx.tree_at(lambda matrix: matrix.entries, self, self.entries.T)


class LazyGaussian(GaussianMatrix):
    """Only what has been asked, stored: directions and images are the rows of their arrays."""

    key: Key[Array, ""]
    variance: Float[Array, ""]
    right: Float[Array, "p columns"]
    right_images: Float[Array, "p rows"]
    left: Float[Array, "q rows"]
    left_images: Float[Array, "q columns"]

    def __init__(self, key: Key[Array, ""], shape: tuple[int, int], variance: Float[Array, ""] | float):
        self.key = key
        self.variance = jnp.asarray(variance)
        no_row, no_column = (jnp.zeros((0, size), self.variance.dtype) for size in shape)
        self.left, self.right_images = no_row, no_row
        self.right, self.left_images = no_column, no_column

    @eqx.filter_jit  # compiled once per shape for those who ask step by step
    def times(self, u: Float[Array, "k columns"]) -> tuple[Float[Array, "k rows"], "LazyGaussian"]:
        """$W u$ for each row of `u`: looked up along known directions, drawn along new ones."""
        known, asked_left = len(self.right), len(self.left)
        right, coefficients = _extend_basis(self.right, u)
        new = right[known:]
        # The number of directions held grows with every question, so no two questions share a key.
        noise = standard_normals(fold_in(self.key, known + asked_left), (len(u), self.left.shape[1]), u.dtype)
        noise = jnp.sqrt(self.variance) * jnp.where(jnp.any(new != 0, axis=1, keepdims=True), noise, 0)
        images = noise + (new @ self.left_images.T - noise @ self.left.T) @ self.left
        right_images = jnp.concatenate([self.right_images, images])
        asked = eqx.tree_at(lambda matrix: (matrix.right, matrix.right_images), self, (right, right_images))
        return coefficients @ right_images, asked

    def transposed(self) -> "LazyGaussian":
        r"""$W^{\mathsf T}$: left and right change places."""
        sides = (self.left, self.left_images, self.right, self.right_images)
        return eqx.tree_at(lambda m: (m.right, m.right_images, m.left, m.left_images), self, sides)


def _extend_basis(
    basis: Float[Array, "p n"], vectors: Float[Array, "k n"]
) -> tuple[Float[Array, "p+k n"], Float[Array, "k p+k"]]:
    """An orthonormal basis grown to span `vectors`, and their coefficients in it.

    Two rounds of Gram-Schmidt, which is enough for orthogonality to rounding. A vector that lies in the span already,
    to a thousand roundings, adds a row of zeros: shapes do not depend on values.
    """
    known, count = len(basis), len(vectors)
    tolerance = 1e3 * jnp.finfo(vectors.dtype).eps

    def extend(i: Array, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        basis, coefficients = state
        vector = vectors[i]
        first = basis @ vector
        residual = vector - first @ basis
        second = basis @ residual
        residual = residual - second @ basis
        length = jnp.linalg.norm(residual)
        is_new = length > tolerance * jnp.linalg.norm(vector)
        row = first + second
        direction = jnp.where(is_new, residual / jnp.where(is_new, length, 1), 0)
        return (
            basis.at[known + i].set(direction),
            coefficients.at[i].set(row.at[known + i].set(jnp.where(is_new, length, 0))),
        )

    grown = jnp.concatenate([basis, jnp.zeros_like(vectors)])
    return lax.fori_loop(0, count, extend, (grown, jnp.zeros((count, known + count), vectors.dtype)))
