"""The inverse of any covariance, singular ones included."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Float, Int

from .._arrays import Array, diagonal

_LEFT = 1e-11  # of a variance: what is less after the others are taken out is rounding


def generalised_inverse(K: Float[Array, "m m"]) -> tuple[Float[Array, "m m"], Int[Array, ""]]:
    r"""A symmetric $K^-$ with $KK^-K = K$, and the rank of $K$: what solves equations and projects, whatever the rank.

    Variables are swept out one by one (Gauss and Jordan), the one with the largest remaining variance first, on the correlation
    matrix; those that the others determine get zeros. Under `vmap` all of it runs side by side.
    """
    size = jnp.sqrt(jnp.maximum(diagonal(K), 0.0))
    inverse_size = jnp.where(size > 0, 1 / jnp.where(size > 0, size, 1.0), 0.0)
    positions = jnp.arange(len(K))

    def sweep(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        A, swept = state
        left = jnp.where(swept, -jnp.inf, diagonal(A))
        chosen = positions == jnp.argmax(left)
        pivot = jnp.max(left)
        there_is = pivot > _LEFT
        column = jnp.sum(jnp.where(chosen, A, 0.0), axis=1) / jnp.where(there_is, pivot, 1.0)
        inner = A - column[:, None] * column * pivot
        cross = jnp.where(chosen, column[:, None], jnp.where(chosen[:, None], column, inner))
        new = jnp.where(chosen & chosen[:, None], -1 / jnp.where(there_is, pivot, 1.0), cross)
        return (jnp.where(there_is, new, A), swept | (chosen & there_is)), None

    start = K * inverse_size[:, None] * inverse_size, jnp.zeros(len(K), bool)
    (A, swept), _ = lax.scan(sweep, start, length=len(K))
    inverse = jnp.where(swept & swept[:, None], -A, 0.0) * inverse_size[:, None] * inverse_size
    return inverse, jnp.sum(swept)
