"""The random numbers of a layer: Gaussian matrices, and Wishart matrices without the Gaussian ones behind them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Float, Key

from ..._arrays import Array
from ..normals import standard_normals
from .chi_squares import chi_squares


class Wisharts(NamedTuple):
    r"""`matrices` independent Wishart matrices $\mathcal W(\nu, I)$ of this size with $\nu$ = `degrees` $\ge 0$."""

    matrices: int
    size: int
    degrees: int

    @property
    def rank(self) -> int:
        """The columns of a factor."""
        return min(self.size, self.degrees)


def draw(
    key: Key[Array, ""], gaussians: Sequence[tuple[int, ...]], wisharts: Sequence[Wisharts], dtype: DTypeLike
) -> tuple[Sequence[Float[Array, "..."]], Sequence[Float[Array, "_ _ _"]]]:
    r"""Standard normal arrays of the given shapes, and factors $B$ of Wishart matrices, $BB^{\mathsf T} \sim \mathcal W(\nu, I)$.

    Bartlett: the triangular factor of a Gaussian matrix with $\nu$ columns has normals below the diagonal and
    $\chi_{\nu-i}$ on it, $i = 0, 1, \dots$; with fewer columns than rows it is a trapezoid. All numbers of one kind
    come from one call of the generator, whose code is slow to compile.
    """
    shapes = [*gaussians, *((w.matrices, w.size, w.rank) for w in wisharts)]
    degrees = [np.tile(w.degrees - np.arange(w.rank), w.matrices) for w in wisharts]
    key_normals, key_diagonals = jax.random.split(key)
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    normals = jnp.split(standard_normals(key_normals, (int(ends[-1]),), dtype), ends[:-1])
    arrays = [part.reshape(shape) for part, shape in zip(normals, shapes, strict=True)]
    if not sum(map(len, degrees)):
        return arrays[: len(gaussians)], arrays[len(gaussians) :]
    chi = jnp.sqrt(chi_squares(key_diagonals, np.concatenate(degrees), dtype))
    diagonals = jnp.split(chi, np.cumsum([len(each) for each in degrees])[:-1])
    factors = [
        _triangular(below, diagonal.reshape(w.matrices, w.rank))
        for w, below, diagonal in zip(wisharts, arrays[len(gaussians) :], diagonals, strict=True)
    ]
    return arrays[: len(gaussians)], factors


def _triangular(
    below: Float[Array, "count size rank"], diagonal: Float[Array, "count rank"]
) -> Float[Array, "count size rank"]:
    row, column = np.indices(below.shape[1:])
    return jnp.where(row == column, diagonal[:, None, :], jnp.where(row > column, below, 0))
