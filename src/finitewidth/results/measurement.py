"""Figures that were measured, with their standard errors, and how far these can be trusted."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Bool, Float

from .._arrays import Array
from .._result import Result

Leaf = TypeVar("Leaf")
"""What a field of a result is made of: an array in theory, a `Measurement` of an ensemble."""

ENOUGH_NETWORKS = 10.0
"""Effective networks from which on a standard error is trusted: with fewer, two standard errors hold the truth in 91 % of all runs
or less instead of 95 % (measured, for Gaussian, exponential and log-normal fluctuations and for ReLU networks alike)."""


class Measurement(Result, eqx.Module):
    """Figures with their standard errors, arrays of one shape."""

    mean: Float[Array, "*shape"]
    standard_error: Float[Array, "*shape"]
    effective_networks: Float[Array, "*shape"] | None = None
    """How many networks stand behind each standard error, at most all: few where rare networks with large contributions
    decide it. `None` where nobody counted."""

    def __getitem__(self, index: Any) -> "Measurement":
        """The same part of all: `measured.G[2]` is layer three."""
        return self.map(lambda part: part[index])

    def map(self, function: Callable[[Array], Array]) -> "Measurement":
        """All through a function that chooses entries or multiplies them by positive numbers, which networks do not feel."""
        count = self.effective_networks
        if count is not None:
            count = _as_array(function(count) / function(np.ones_like(count)))
        return Measurement(_as_array(function(self.mean)), _as_array(function(self.standard_error)), count)

    def as_columns(self, name: str) -> dict[str, Array]:
        """As part of a table: `G` and `G_error`."""
        return {name: self.mean, f"{name}_error": self.standard_error}

    @property
    def trustworthy(self) -> Bool[Array, "*shape"]:
        """Where standard errors can be trusted; elsewhere too few networks decide them, and they tend to be too small."""
        if self.effective_networks is None:
            return np.ones(self.mean.shape, dtype=bool)
        return _as_array(self.effective_networks >= ENOUGH_NETWORKS)


def _as_array(value: Any) -> Array:
    """One entry of a NumPy array is not an array any more; of a JAX array it is."""
    return value if isinstance(value, jax.Array) else np.asarray(value)


def on_leaf(function: Callable[[Array], Array], leaf: Leaf) -> Leaf:
    """A function that chooses entries or multiplies them by positive numbers, of an array or of a measurement."""
    return leaf.map(function) if isinstance(leaf, Measurement) else function(leaf)  # type: ignore  # no way to say that the kind stays
