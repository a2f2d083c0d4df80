"""A square root of any covariance."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float


def covariance_root(K: Float[Array, "N N"]) -> Float[Array, "N N"]:
    r"""A matrix $R$ with $RR^{\mathsf T} = K$ for any positive semi-definite $K$, singular ones included.

    Cholesky; where that fails, Cholesky with pivoting. Under `vmap` the second runs only if it is needed by some member of
    the batch, because a loop of no turns is skipped.
    """
    root = jnp.linalg.cholesky(K, symmetrize_input=False)
    failed = ~jnp.isfinite(root).all()
    return lax.fori_loop(0, failed.astype(int), lambda _, __: pivoted_root(K), jnp.where(failed, 0.0, root))


def pivoted_root(K: Float[Array, "N N"]) -> Float[Array, "N N"]:
    r"""A matrix $R$ with $RR^{\mathsf T} = K$ for any positive semi-definite $K$, singular ones included.

    Cholesky with pivoting on the correlation matrix. It stops when all that is left is rounding; without
    pivoting a direction dropped as rounding could still be correlated with larger ones to come.
    """
    scale = jnp.sqrt(jnp.maximum(jnp.diagonal(K), 0))
    inverse = jnp.where(scale > 0, 1 / jnp.where(scale > 0, scale, 1), 0)
    rounding = 4 * len(K) * jnp.finfo(K.dtype).eps

    def eliminate(rest: Array, _: None) -> tuple[Array, Array]:
        pivots = jnp.diagonal(rest)
        largest = jnp.argmax(pivots)
        pivot = pivots[largest]
        is_left = pivot > rounding
        column = jnp.where(is_left, rest[:, largest] / jnp.sqrt(jnp.where(is_left, pivot, 1)), 0)
        return rest - column[:, None] * column, column

    _, columns = lax.scan(eliminate, K * inverse[:, None] * inverse, length=len(K))
    return scale[:, None] * columns.T
