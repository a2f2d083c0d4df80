"""Ratios of what may be zero."""

from typing import Any


def ratio_or_zero(numerator: Any, denominator: Any) -> Any:
    """`numerator / denominator`, and zero where the denominator is: what is not there does not fluctuate. Neither warns nor
    spoils gradients, for arrays of NumPy and of JAX alike."""
    absent = denominator == 0
    return numerator * ~absent / (denominator + absent)
