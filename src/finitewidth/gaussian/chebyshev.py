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
_PARTS, _POWERS = 16, 6


class Table(NamedTuple):
    """Panels that end at `ends`, and the coefficients of powers on each of the equal parts into which all of them are cut: with a
    sixth of the coefficients, a value costs a third of the time."""

    ends: Float[Array, " ends"]
    coefficients: Float[Array, "powers parts"]

    def __call__(self, x: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        """The values at `x`."""
        panel = jnp.sum(x[..., None] > self.ends[1:-1], axis=-1)
        low, high = self.ends[panel], self.ends[panel + 1]
        position = _PARTS * ratio(x - low, high - low)
        part = jnp.clip(jnp.floor(position).astype(int), 0, _PARTS - 1)
        y, which = position - part - 0.5, panel * _PARTS + part
        total = jnp.zeros_like(x)
        for of_power in self.coefficients[::-1]:
            total = total * y + of_power[which]
        return total


def tabulate(function: Callable[[Array], Array], ends: Float[Array, " ends"]) -> Table:
    """`function`, smooth between the `ends`, interpolated at the Chebyshev points of each panel."""
    nodes, _ = chebyshev_points()
    low, high = ends[:-1, None], ends[1:, None]
    values = function((low + high) / 2 + (high - low) / 2 * nodes)
    return Table(ends, jnp.tensordot(_powers(), values, axes=(2, 1)).swapaxes(1, 2).reshape(_POWERS, -1))


@functools.cache
def _powers() -> Float[np.ndarray, "powers parts nodes"]:
    """What turns values at the Chebyshev points of a panel into coefficients of powers of the distance from the middle of each part,
    in units of the part."""
    _, transform = chebyshev_points()
    y = np.cos((np.arange(_POWERS) + 0.5) * math.pi / _POWERS) / 2
    points = 2 * (np.arange(_PARTS)[:, None] + 0.5 + y) / _PARTS - 1
    series = np.polynomial.chebyshev.chebvander(points, _DEGREE) @ transform.T
    return np.moveaxis(np.linalg.solve(np.vander(y, increasing=True), series), 1, 0)


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
