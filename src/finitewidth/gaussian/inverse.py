"""The inverse of any covariance, singular ones included, and regression on some of its variables."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Bool, Float, Int

from .._arrays import Array, diagonal

_LEFT = 1e-11  # of a variance: what is less after the others are taken out is rounding


class Regression(NamedTuple):
    """All variables given some of them."""

    inverse: Float[Array, "g g"]
    """A generalised inverse of the covariance of those given."""
    rank: Int[Array, ""]
    """How many of them are not determined by the others."""
    coefficients: Float[Array, "g m"]
    """Of the mean of every variable, by those given."""
    left: Float[Array, "m m"]
    """The covariance that is left."""


def generalised_inverse(K: Float[Array, "m m"]) -> tuple[Float[Array, "m m"], Int[Array, ""]]:
    r"""A symmetric $K^-$ with $KK^-K = K$, and the rank of $K$: what solves equations and projects, whatever the rank."""
    inverse_size = _inverse_size(K)
    A, swept = _swept(K * inverse_size[:, None] * inverse_size, np.ones(len(K), bool))
    inverse = jnp.where(swept & swept[:, None], -A, 0.0) * inverse_size[:, None] * inverse_size
    return inverse, jnp.sum(swept)


def regression(K: Float[Array, "m m"], given: Int[np.ndarray, " g"]) -> Regression:
    r"""With $G$ and $H$ the rows of $K$ that belong to those given: $G^-$, $G^-H$ and $K - H^{\mathsf T}G^-H$.

    By elimination: where $G$ is nearly singular, products with $G^-$ would lose in `left` as many digits as $G^-$ has."""
    inverse_size = _inverse_size(K)
    size = jnp.where(inverse_size > 0, 1 / jnp.where(inverse_size > 0, inverse_size, 1.0), 0.0)
    A, swept = _swept(K * inverse_size[:, None] * inverse_size, np.isin(np.arange(len(K)), given))
    used = swept[given, None]
    inverse = jnp.where(used & swept[given], -A[given][:, given], 0.0) * inverse_size[given, None] * inverse_size[given]
    rows = jnp.where(swept, jnp.eye(len(K))[given], A[given]) * inverse_size[given, None] * size
    left = jnp.where(swept | swept[:, None], 0.0, A) * size[:, None] * size
    return Regression(inverse, jnp.sum(swept), jnp.where(used, rows, 0.0), left)


def _inverse_size(K: Float[Array, "m m"]) -> Float[Array, " m"]:
    """One over standard deviations, zero for variables that do not vary."""
    size = jnp.sqrt(jnp.maximum(diagonal(K), 0.0))
    return jnp.where(size > 0, 1 / jnp.where(size > 0, size, 1.0), 0.0)


def _swept(
    correlations: Float[Array, "m m"], allowed: Bool[np.ndarray, " m"]
) -> tuple[Float[Array, "m m"], Bool[Array, " m"]]:
    """Variables swept out one by one (Gauss and Jordan), the one with the largest remaining variance first, and which those are; those
    that the others determine are left. Under `vmap` all of it runs side by side."""
    positions = jnp.arange(len(correlations))

    def sweep(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        A, swept = state
        left = jnp.where(swept | ~allowed, -jnp.inf, diagonal(A))
        chosen = positions == jnp.argmax(left)
        pivot = jnp.max(left)
        there_is = pivot > _LEFT
        column = jnp.sum(jnp.where(chosen, A, 0.0), axis=1) / jnp.where(there_is, pivot, 1.0)
        inner = A - column[:, None] * column * pivot
        cross = jnp.where(chosen, column[:, None], jnp.where(chosen[:, None], column, inner))
        new = jnp.where(chosen & chosen[:, None], -1 / jnp.where(there_is, pivot, 1.0), cross)
        return (jnp.where(there_is, new, A), swept | (chosen & there_is)), None

    start = correlations, jnp.zeros(len(correlations), bool)
    (A, swept), _ = lax.scan(sweep, start, length=int(allowed.sum()))
    return A, swept
