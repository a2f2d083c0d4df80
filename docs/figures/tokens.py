"""Inputs of the figures: tokens of equal norm and equal correlation."""

import numpy as np
from jaxtyping import Float


def equal_tokens(tokens: int, correlation: float = 0.2, square_norm: float = 1.0) -> Float[np.ndarray, "m m"]:
    """The covariance of tokens that are all alike."""
    return square_norm * ((1 - correlation) * np.eye(tokens) + correlation)
