r"""Weights that learn: stored, or known only through the products asked of them.

Under gradient descent a matrix of weights becomes

$$W(t) = W(0) - \eta\frac{\lambda_W}{n}\sum_{s<t}\sum_\alpha\delta_{s;\alpha}\,\sigma_{s;\alpha}^{\mathsf T},$$

a Gaussian matrix and an update whose directions were all asked before: $W(s)\sigma_s$ on the way forwards, $W(s)^{\mathsf T}\delta_s$ on
the way backwards. So with the bases $U$ of directions asked from the right and $V$ of those asked from the left, as rows,

$$W(t) = W(0) + V^{\mathsf T}C(t)\,U,$$

and a lazy matrix that learns is a lazy Gaussian matrix (see `ensembles.gaussian_matrix`, which has the law of its answers) with
a small matrix $C$. The $k$-th direction costs $O(nk)$; directions that repeat, to rounding, cost nothing new.
"""

import math
from abc import ABC, abstractmethod
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from .growing_basis import Asked, GrowingBasis
from .growing_rows import GrowingRows


class LearningMatrix(ABC):
    """A matrix of weights $W$ of shape (rows, columns) on which gradient descent can work.

    A product returns the answers and the question in the matrix's own terms, by which `descend` knows it again.
    """

    @abstractmethod
    def times(self, u: Float[Array, "m columns"]) -> tuple[Float[Array, "m rows"], Float[Array, "m p"]]:
        """$W u$ for each row of `u`, and the question."""

    @abstractmethod
    def transpose_times(self, v: Float[Array, "m rows"]) -> tuple[Float[Array, "m columns"], Float[Array, "m q"]]:
        r"""$W^{\mathsf T}v$ for each row of `v`, and the question."""

    @abstractmethod
    def descend(self, rate: float, v: Float[Array, "m q"], u: Float[Array, "m p"]) -> None:
        r"""$W \leftarrow W - \text{rate}\sum_\alpha v_\alpha u_\alpha^{\mathsf T}$, of two questions."""


class DenseMatrix(LearningMatrix):
    """All entries, stored; a question is its vectors."""

    def __init__(self, random: np.random.Generator, shape: tuple[int, int], variance: float):
        self.entries = jnp.asarray(math.sqrt(variance) * random.standard_normal(shape))

    def times(self, u: Float[Array, "m columns"]) -> tuple[Float[Array, "m rows"], Float[Array, "m columns"]]:
        """$W u$ for each row of `u`."""
        return _product(u, self.entries.T), u

    def transpose_times(self, v: Float[Array, "m rows"]) -> tuple[Float[Array, "m columns"], Float[Array, "m rows"]]:
        r"""$W^{\mathsf T}v$ for each row of `v`."""
        return _product(v, self.entries), v

    def descend(self, rate: float, v: Float[Array, "m rows"], u: Float[Array, "m columns"]) -> None:
        """One step."""
        self.entries = _descended(self.entries, rate, v, u)


class Side(NamedTuple):
    """Directions asked from one side, and what the matrix made of them at the start."""

    directions: GrowingBasis
    images: GrowingRows


class LazyMatrix(LearningMatrix):
    """Only what has been asked, stored; a question is its coordinates in the basis of its side."""

    def __init__(self, random: np.random.Generator, shape: tuple[int, int], variance: float):
        rows, columns = shape
        self.right = Side(GrowingBasis(columns), GrowingRows(rows))
        self.left = Side(GrowingBasis(rows), GrowingRows(columns))
        self.update = np.zeros((0, 0))
        """$C$, at [left direction, right direction]; directions that joined since are not in it."""
        self._random, self._deviation = random, math.sqrt(variance)

    def times(self, u: Float[Array, "m columns"]) -> tuple[Float[Array, "m rows"], Float[np.ndarray, "m p"]]:
        """$W u$ for each row of `u`: looked up along known directions, drawn along new ones."""
        return self._ask(u, self.right, self.left, self.update)

    def transpose_times(self, v: Float[Array, "m rows"]) -> tuple[Float[Array, "m columns"], Float[np.ndarray, "m q"]]:
        r"""$W^{\mathsf T}v$ for each row of `v`."""
        return self._ask(v, self.left, self.right, self.update.T)

    def descend(self, rate: float, v: Float[Array, "m q"], u: Float[Array, "m p"]) -> None:
        """One step."""
        grown = np.zeros((len(self.left.directions), len(self.right.directions)))
        grown[: self.update.shape[0], : self.update.shape[1]] = self.update
        grown[: v.shape[1], : u.shape[1]] -= rate * (v.T @ u)
        self.update = grown

    def _ask(
        self, u: Float[Array, "m n"], here: Side, there: Side, update: Float[np.ndarray, "q_then p_then"]
    ) -> tuple[Float[Array, "m n_there"], Float[np.ndarray, "m p"]]:
        r"""$W(0)q = VX^{\mathsf T}q + (1 - VV^{\mathsf T})\xi$ along a new direction $q$, with fresh Gaussian $\xi$."""
        asked = here.directions.extend(u)
        if asked.added > 0:
            fresh = np.zeros((len(u), here.images.length))  # as many rows as `u`: one shape, however many are new
            fresh[: asked.added] = self._fresh(asked, here.images.length)
            known = there.images.overlaps(asked.new) - there.directions.rows.overlaps(fresh)
            here.images.append(there.directions.rows.plus_combined(jnp.asarray(fresh), known), asked.added)
        moved = np.zeros((len(u), len(there.directions)))
        moved[:, : len(update)] = asked.coordinates[:, : update.shape[1]] @ update.T
        answers = here.images.plus_combined(jnp.zeros((len(u), here.images.length)), asked.coordinates)
        return there.directions.rows.plus_combined(answers, moved), asked.coordinates

    def _fresh(self, asked: Asked, length: int) -> Float[np.ndarray, "new n"]:
        r"""$\xi$ for each new direction."""
        return self._deviation * self._random.standard_normal((asked.added, length))


@jax.jit
def _product(u: Float[Array, "m k"], matrix: Float[Array, "k n"]) -> Float[Array, "m n"]:
    return u @ matrix


@partial(jax.jit, donate_argnums=0)
def _descended(
    entries: Float[Array, "rows columns"], rate: float | Array, v: Float[Array, "m rows"], u: Float[Array, "m columns"]
) -> Float[Array, "rows columns"]:
    return entries - rate * (v.T @ u)
