r"""An orthonormal basis that grows to span what it is asked for, many vectors at a time.

Vectors $u$ are split into what the basis $U$ spans and a rest, $u = aU + TQ$, where Gram-Schmidt with pivots takes the directions $Q$
of the rest, the largest first, and ends where only rounding is left. A rest much smaller than $u$ is orthogonal to $U$ only up to
rounding *of $u$*; so its directions are projected once more, $Q = bU + LQ'$, and then
$u = (a + Tb)\,U + TL\,Q'$ with $Q' \perp U$ to rounding.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float, Int

from ..._arrays import Array
from ..._errors import BlowUpError
from .growing_rows import BLOCK, GrowingRows, scalar_products

TOLERANCE = 1e3 * float(np.finfo(float).eps)
"""A rest smaller than this, relative to its vector, is rounding and adds no direction."""

_LEANS = 0.1  # a direction with more than this in the span was mostly rounding, and is projected again
_ALIKE = 1 - 1e-9  # of two rests that are as large as each other the first is taken
_SKEW = 1e-9  # overlaps of directions from which on answers would not have their law


class Asked(NamedTuple):
    """Vectors as a basis sees them."""

    coordinates: Float[np.ndarray, "m grown"]
    new: Float[Array, "m n"]
    """The new rows of the basis; as many rows as there are vectors, the rest zero."""
    added: int
    """How many of these are new."""


class GrowingBasis:
    """Orthonormal rows that span all vectors asked so far."""

    def __init__(self, length: int):
        self.rows = GrowingRows(length)
        self.worst_overlap = 0.0
        """The largest scalar product of two rows, or deviation of a norm from one, as far as measured."""
        self._measured = 0

    def __len__(self) -> int:
        return self.rows.count

    def extend(self, vectors: Float[Array, "m n"]) -> Asked:
        """The basis grows to span `vectors`. One that lies in the span already, to a thousand roundings, adds no direction."""
        unit, norms = _normalised(vectors)
        norms = np.asarray(norms)[:, None]
        if not np.isfinite(norms).all():
            raise FloatingPointError("a vector that is not finite")
        known = self.rows.overlaps(unit)
        split = _directions(self.rows.plus_combined(unit, -known))
        count, along, new = int(split.taken), np.asarray(split.along), split.directions
        if count > 0:
            leaning, factor, new = self._projected(new, count)
            known, along = known + along @ leaning, along @ factor
            self.rows.append(new, count)
            if len(self) // BLOCK > self._measured // BLOCK:
                self.measure()
        return Asked(norms * np.concatenate([known, along[:, :count]], axis=1), new, count)

    def measure(self) -> None:
        """Overlaps of the rows that joined since the last time; refused if they are no rounding."""
        first = self._measured // BLOCK
        for number, block in enumerate(self.rows.blocks[first:], first):
            own = slice(BLOCK * number, min(BLOCK * (number + 1), len(self)))
            overlaps = self.rows.overlaps(block)[: own.stop - own.start]
            overlaps[:, own] -= np.eye(own.stop - own.start)
            self.worst_overlap = max(self.worst_overlap, float(np.abs(overlaps).max()))
        self._measured = len(self)
        if not self.worst_overlap < _SKEW:
            raise BlowUpError(
                f"Directions asked of lazy weights overlap by {self.worst_overlap:.1e} where rounding leaves 1e-14: the answers would "
                "not have their law. Take fewer steps, or method='dense'."
            )

    def _projected(
        self, new: jax.Array, count: int
    ) -> tuple[Float[np.ndarray, "m known"], Float[np.ndarray, "m m"], jax.Array]:
        """Directions $Q = bU + LQ'$: $b$, $L$ and $Q'$, orthonormal and orthogonal to the basis; all but `count` of them zero."""
        leaning, factor = np.zeros((len(new), len(self))), np.eye(len(new))
        leans = True
        while leans:
            more = self.rows.overlaps(new)
            rest = self.rows.plus_combined(new, -more)
            lower, inverse = np.zeros_like(factor), np.zeros_like(factor)
            lower[:count, :count] = np.linalg.cholesky(np.asarray(scalar_products(rest, rest))[:count, :count])
            inverse[:count, :count] = np.linalg.inv(lower[:count, :count])
            leaning, factor, new = leaning + factor @ more, factor @ lower, _weighted(inverse, rest)
            leans = np.abs(more).max(initial=0.0) > _LEANS
        return leaning, factor, new


class _Split(NamedTuple):
    directions: jax.Array
    along: jax.Array
    taken: Int[Array, ""]


@jax.jit
def _normalised(vectors: Float[Array, "m n"]) -> tuple[Float[Array, "m n"], Float[Array, " m"]]:
    norms = jnp.linalg.norm(vectors, axis=1)
    return vectors / jnp.where(norms > 0, norms, 1.0)[:, None], norms


@partial(jax.jit, donate_argnums=0)
def _directions(rest: Float[Array, "m n"]) -> _Split:
    """Unit vectors $Q$ and coefficients $T$ with `rest` $= TQ$ to rounding, by Gram-Schmidt that takes the largest vector next."""
    most = min(rest.shape)

    def sizes(rest: Array) -> Array:
        return jnp.linalg.norm(rest, axis=1)

    def matters(state: tuple[Array, Array, _Split]) -> Array:
        _, size, split = state
        return (jnp.max(size) > TOLERANCE) & (split.taken < most)

    def take(state: tuple[Array, Array, _Split]) -> tuple[Array, Array, _Split]:
        rest, size, split = state
        # The first of those as large: which one is the largest by rounding must not matter.
        largest = jnp.argmax(size > _ALIKE * jnp.max(size))
        direction = rest[largest] / size[largest]
        along = rest @ direction
        rest = rest - along[:, None] * direction
        return (
            rest,
            sizes(rest),
            _Split(
                split.directions.at[split.taken].set(direction),
                split.along.at[:, split.taken].set(along),
                split.taken + 1,
            ),
        )

    none = _Split(jnp.zeros_like(rest), jnp.zeros((len(rest), len(rest))), jnp.zeros((), int))
    return lax.while_loop(matters, take, (rest, sizes(rest), none))[2]


@partial(jax.jit, donate_argnums=1)
def _weighted(coefficients: Float[Array, "m m"], rows: Float[Array, "m n"]) -> jax.Array:
    return jnp.matmul(coefficients, rows)
