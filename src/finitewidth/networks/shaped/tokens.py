"""Tokens that are all alike."""

import numpy as np
from jaxtyping import Float

from ..._validation import as_count, as_number


def equal_tokens(tokens: int, correlation: float) -> Float[np.ndarray, "m m"]:
    """The covariance of tokens of unit mean square, all equally correlated."""
    lowest = -1 / max(1, as_count(tokens, "tokens") - 1)
    rho = as_number(correlation, "correlation", low=lowest, high=1.0)
    return (1 - rho) * np.eye(tokens) + rho
