"""Covariances of tokens: those of a user, and those of tokens that are all alike."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._validation import as_count, as_covariance, as_number


def as_token_covariance(V: Any, argument: str) -> Float[Array, "m m"]:
    """A positive semi-definite matrix, up to the rounding of the type in which it came."""
    dtype = getattr(V, "dtype", np.dtype(float))
    rounding = float(jnp.finfo(dtype).eps) if jnp.issubdtype(dtype, jnp.floating) else 0.0
    return as_covariance(V, argument, tolerance=max(1e-10, 4 * rounding))


@entry()
def equal_tokens(tokens: int, correlation: float) -> Float[np.ndarray, "m m"]:
    """The covariance of tokens of unit mean square, all equally correlated.

    Examples:
        >>> fw.shaped.equal_tokens(2, 0.5).tolist()
        [[1.0, 0.5], [0.5, 1.0]]
    """
    lowest = -1 / max(1, as_count(tokens, "tokens") - 1)
    rho = as_number(correlation, "correlation", low=lowest, high=1.0)
    return (1 - rho) * np.eye(tokens) + rho
