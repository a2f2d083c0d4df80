"""Figures that were measured, with their standard errors."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from .._arrays import Array

Leaf = TypeVar("Leaf")
"""What a field of a result is made of: an array in theory, a `Measurement` of an ensemble."""


class Measurement(eqx.Module):
    """Figures with their standard errors, arrays of one shape."""

    mean: Float[Array, "*shape"]
    standard_error: Float[Array, "*shape"]

    def __getitem__(self, index: Any) -> "Measurement":
        """The same part of both: `measured.G[2]` is layer three."""
        return self.map(lambda part: part[index])

    def map(self, function: Callable[[Array], Array]) -> "Measurement":
        """Both through a function that chooses entries or multiplies them by positive numbers."""
        return Measurement(_as_array(function(self.mean)), _as_array(function(self.standard_error)))


def _as_array(value: Any) -> Array:
    """One entry of a NumPy array is no array any more; of a JAX array it is."""
    return value if isinstance(value, jax.Array) else np.asarray(value)


def on_leaf(function: Callable[[Array], Array], leaf: Leaf) -> Leaf:
    """A function that chooses entries or multiplies them by positive numbers, of an array or of a measurement."""
    return leaf.map(function) if isinstance(leaf, Measurement) else function(leaf)  # type: ignore[arg-type, return-value]
