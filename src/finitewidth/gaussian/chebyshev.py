"""A function of one variable, tabulated as a Chebyshev series on each of a few panels."""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .._arrays import Array
from .panels import ratio

_DEGREE = 17


class Table(NamedTuple):
    """Panels that end at `ends`, and the Chebyshev coefficients on each."""

    ends: Float[Array, " ends"]
    coefficients: Float[Array, "panels coefficients"]

    def __call__(self, x: Float[Array, "*batch nodes"]) -> Float[Array, "*batch nodes"]:
        """The values at `x`, whose last axis stays within one panel: the series is looked up once for all of it."""
        middle = (x[..., 0] + x[..., -1]) / 2
        return self._on(jnp.sum(middle[..., None] > self.ends[1:-1], axis=-1), x)

    def on_equal_panels(self, x: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        """The values at `x`, anywhere, if all panels have the same length."""
        panel = jnp.floor((x - self.ends[0]) / (self.ends[1] - self.ends[0])).astype(int)
        return self._on(jnp.clip(panel, 0, len(self.coefficients) - 1), x[..., None])[..., 0]

    def _on(self, panel: Int[Array, "*batch"], x: Float[Array, "*batch nodes"]) -> Float[Array, "*batch nodes"]:
        low, high = self.ends[panel][..., None], self.ends[panel + 1][..., None]
        y = ratio(2 * x - low - high, high - low)
        series = self.coefficients[panel]
        one, two = jnp.zeros_like(y), jnp.zeros_like(y)
        for k in range(_DEGREE, 0, -1):  # Clenshaw's recurrence
            one, two = series[..., k, None] + 2 * y * one - two, one
        return series[..., 0, None] + y * one - two


def tabulate(function: Callable[[Array], Array], ends: Float[Array, " ends"]) -> Table:
    """`function`, smooth between the `ends`, interpolated at the Chebyshev points of each panel."""
    angles = (np.arange(_DEGREE + 1) + 0.5) * math.pi / (_DEGREE + 1)
    transform = 2 / (_DEGREE + 1) * np.cos(np.outer(angles, np.arange(_DEGREE + 1)))
    transform[:, 0] /= 2
    low, high = ends[:-1, None], ends[1:, None]
    return Table(ends, function((low + high) / 2 + (high - low) / 2 * np.cos(angles)) @ transform)
