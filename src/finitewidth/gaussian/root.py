"""A square root of any covariance."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Float

from .._arrays import Array, diagonal


def covariance_root(K: Float[Array, "N N"]) -> Float[Array, "N N"]:
    r"""A matrix $R$ with $RR^{\mathsf T} = K$ for any positive semi-definite $K$, singular ones included.

    Cholesky; where that breaks down or meets a pivot that is all rounding, Cholesky with pivoting. Under `vmap` the second
    runs only if some member of the batch needs it, because a loop of no turns is skipped. Zero times the root makes its body depend
    on the turn: the compiler takes what does not out of the loop, and runs it always.
    """
    root = jnp.linalg.cholesky(K, symmetrize_input=False)
    sound = (diagonal(root) ** 2 > _rounding(K) * diagonal(K)).all()  # false if NaN

    def with_pivots(_: Array, root: Array) -> Array:
        return pivoted_root(K + 0 * root)

    return lax.fori_loop(0, (~sound).astype(int), with_pivots, jnp.where(sound, root, 0.0))


def _rounding(K: Float[Array, "N N"]) -> float:
    """What rounding leaves of a pivot that is zero, relative to the variance it was."""
    return 4 * len(K) * float(jnp.finfo(K.dtype).eps)


def pivoted_root(K: Float[Array, "N N"]) -> Float[Array, "N N"]:
    r"""A matrix $R$ with $RR^{\mathsf T} = K$ for any positive semi-definite $K$, singular ones included.

    Cholesky with pivoting on the correlation matrix. It stops when all that is left is rounding; without
    pivoting a direction dropped as rounding could still be correlated with larger ones to come.
    """
    scale = jnp.sqrt(jnp.maximum(diagonal(K), 0))
    inverse = jnp.where(scale > 0, 1 / jnp.where(scale > 0, scale, 1), 0)
    rounding = _rounding(K)

    def eliminate(rest: Array, _: None) -> tuple[Array, Array]:
        pivots = diagonal(rest)
        # The first of those that differ by rounding, which is that of the ones on the diagonal at the start and does not shrink
        # with the pivots: a seed means the same networks on every machine.
        largest = jnp.argmax(pivots >= jnp.max(pivots) - rounding)
        pivot = pivots[largest]
        is_left = pivot > rounding
        column = jnp.where(is_left, rest[:, largest] / jnp.sqrt(jnp.where(is_left, pivot, 1)), 0)
        return rest - column[:, None] * column, column

    _, columns = lax.scan(eliminate, K * inverse[:, None] * inverse, length=len(K))
    return scale[:, None] * columns.T
