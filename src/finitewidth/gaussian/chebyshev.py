"""A function of one variable, tabulated as a Chebyshev series on each of a few panels."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .panels import ratio

_DEGREE = 17


class Table(NamedTuple):
    """Panels that end at `ends`, and the Chebyshev coefficients on each."""

    ends: Float[Array, " ends"]
    coefficients: Float[Array, "panels coefficients"]

    def __call__(self, x: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        """The values at `x`."""
        panel = jnp.sum(x[..., None] > self.ends[1:-1], axis=-1)
        low, high = self.ends[panel], self.ends[panel + 1]
        return _clenshaw([of_degree[panel] for of_degree in self.coefficients.T], ratio(2 * x - low - high, high - low))


def tabulate(function: Callable[[Array], Array], ends: Float[Array, " ends"]) -> Table:
    """`function`, smooth between the `ends`, interpolated at the Chebyshev points of each panel."""
    nodes, transform = chebyshev_points()
    low, high = ends[:-1, None], ends[1:, None]
    return Table(ends, function((low + high) / 2 + (high - low) / 2 * nodes) @ transform)


@functools.cache
def chebyshev_points() -> tuple[np.ndarray, np.ndarray]:
    """The points of a panel [-1, 1], and the matrix that turns values there into coefficients."""
    angles = (np.arange(_DEGREE + 1) + 0.5) * math.pi / (_DEGREE + 1)
    transform = 2 / (_DEGREE + 1) * np.cos(np.outer(angles, np.arange(_DEGREE + 1)))
    transform[:, 0] /= 2
    return np.cos(angles), transform


def from_series(
    coefficients: Float[Array, "coefficients panels"], start: Array, length: Array, x: Float[Array, "*batch"]
) -> Float[Array, "*batch"]:
    """The values at `x`, anywhere, of series on panels of one `length`, the first of which begins at `start`."""
    position = (x - start) / length
    panel = jnp.clip(jnp.floor(position).astype(int), 0, coefficients.shape[1] - 1)
    return _clenshaw([of_degree[panel] for of_degree in coefficients], 2 * (position - panel) - 1)


def _clenshaw(series: Sequence[Array], y: Array) -> Array:
    """The sum of Chebyshev polynomials with these coefficients."""
    one, two = jnp.zeros_like(y), jnp.zeros_like(y)
    for coefficient in series[:0:-1]:
        one, two = coefficient + 2 * y * one - two, one
    return series[0] + y * one - two
