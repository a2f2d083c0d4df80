"""A square root of any covariance."""

import contextlib

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Bool, Float

from .._arrays import Array, diagonal
from .._compile import compiled_in_haste


def covariance_root(K: Float[Array, "N N"]) -> Float[Array, "N N"]:
    r"""A matrix $R$ with $RR^{\mathsf T} = K$ for any positive semi-definite $K$, singular ones included.

    Cholesky; where that breaks down or meets a pivot that is all rounding, Cholesky with pivoting. Under `vmap` the second
    runs only if some member of the batch needs it, because a loop of no turns is skipped.
    """
    root = jnp.linalg.cholesky(K, symmetrize_input=False)
    sound = _is_sound(root, K)
    scale, rest = _correlations(K)
    places = jnp.arange(len(K))

    def with_pivots(turn: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
        rest, column = _eliminated(found[0])
        return rest, jnp.where(places == turn, column[:, None], found[1])

    turns = jnp.where(sound, 0, len(K))  # in one loop, not in one around another, which would be compiled as well
    columns = lax.fori_loop(0, turns, with_pivots, (rest, jnp.zeros_like(rest)))[1]
    return jnp.where(sound, root, scale[:, None] * columns)


def root_at_hand(K: Float[np.ndarray, "N N"]) -> Float[np.ndarray, "N N"]:
    """`covariance_root` of numbers at hand: NumPy's where Cholesky will do, which no one has to compile."""
    with contextlib.suppress(np.linalg.LinAlgError):
        root = np.linalg.cholesky(K)
        if _is_sound(root, K):
            return root
    return np.asarray(_compiled_root(K))


def pivoted_root(K: Float[Array, "N N"]) -> Float[Array, "N N"]:
    r"""A matrix $R$ with $RR^{\mathsf T} = K$ for any positive semi-definite $K$, singular ones included.

    Cholesky with pivoting on the correlation matrix. It stops when all that is left is rounding; without
    pivoting a direction dropped as rounding could still be correlated with larger ones to come.
    """
    scale, rest = _correlations(K)
    _, columns = lax.scan(lambda rest, _: _eliminated(rest), rest, length=len(K))
    return scale[:, None] * columns.T


_compiled_root = compiled_in_haste()(covariance_root)


def _is_sound(root: Float[Array, "N N"], K: Float[Array, "N N"]) -> Bool[Array, ""] | np.bool_:
    """Whether no pivot was all rounding, nor NaN."""
    return (diagonal(root) ** 2 > _rounding(K) * diagonal(K)).all()


def _rounding(K: Float[Array, "N N"]) -> float:
    """What rounding leaves of a pivot that is zero, relative to the variance it was."""
    return 4 * len(K) * float(jnp.finfo(K.dtype).eps)


def _correlations(K: Float[Array, "N N"]) -> tuple[Float[Array, " N"], Float[Array, "N N"]]:
    """Deviations and correlations."""
    scale = jnp.sqrt(jnp.maximum(diagonal(K), 0))
    inverse = jnp.where(scale > 0, 1 / jnp.where(scale > 0, scale, 1), 0)
    return scale, K * inverse[:, None] * inverse


def _eliminated(rest: Float[Array, "N N"]) -> tuple[Float[Array, "N N"], Float[Array, " N"]]:
    """What is left of correlations after the largest pivot, and the column of the root that takes it away."""
    rounding, pivots = _rounding(rest), diagonal(rest)
    # The first of those that differ by rounding, which is that of the ones on the diagonal at the start and does not shrink
    # with the pivots: a seed means the same networks on every machine.
    largest = jnp.argmax(pivots >= jnp.max(pivots) - rounding)
    pivot = pivots[largest]
    is_left = pivot > rounding
    column = jnp.where(is_left, rest[:, largest] / jnp.sqrt(jnp.where(is_left, pivot, 1)), 0)
    return rest - column[:, None] * column, column
