"""Where an elementwise function or one of its derivatives jumps, found by looking."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError
from ..gaussian.function import Function

MOST_KINKS = 16
_REACH, _STEP = 40.0, 0.01
_OFFSET = 0.00271  # so that kinks at round numbers fall between the nodes
_HIGHEST = 3  # a jump of a higher derivative does not hurt quadrature
_SUSPICIOUS, _JUMP = 1e-5, 1e-6  # relative to the size of the derivative nearby
_HALVINGS = 50
_ROUND = 10  # decimals to which a kink is rounded if that changes nothing


@functools.lru_cache(maxsize=128)
@entry()
def find_kinks(value: Callable[[Array], Array]) -> tuple[float, ...]:
    """The points within 40 of zero at which `value` or one of its first three derivatives jumps.

    Wherever a derivative changes more over a small interval than the next one explains, the interval is halved, always
    towards the half with more to explain. What is left of a steep but smooth change vanishes; a jump stays.
    """
    evaluate = jax.jit(lambda z: jnp.stack([Function(value).derivative(k)(z) for k in range(_HIGHEST + 2)]))
    nodes = np.arange(-_REACH, _REACH, _STEP) + _OFFSET

    def sampled(z: Float[np.ndarray, " n"]) -> Float[np.ndarray, "orders n"]:
        padded = np.zeros(nodes.shape)  # one shape: compiled once
        padded[: len(z)] = z
        return np.asarray(evaluate(padded))[:, : len(z)]

    found: set[float] = set()
    with np.errstate(invalid="ignore", over="ignore"):
        on_nodes = sampled(nodes)
        for order in range(_HIGHEST + 1):
            low, high = on_nodes[:, :-1], on_nodes[:, 1:]
            suspicious = _unexplained(low, high, order, _STEP) > _SUSPICIOUS * (1 + np.abs(low[order]))
            left, right = nodes[:-1][suspicious], nodes[1:][suspicious]
            found.update(_jumps(sampled, left, right, order))
    if len(found) > MOST_KINKS:
        got = f"a function that jumps, or whose derivatives jump, at {len(found)} points or more"
        raise DomainError("activation", got, f"at most {MOST_KINKS} such points")
    return tuple(sorted(found))


def _unexplained(low: np.ndarray, high: np.ndarray, order: int, step: float | np.ndarray) -> np.ndarray:
    """The change of a derivative between two nodes beyond what the next derivative accounts for."""
    return np.abs(high[order] - low[order] - step * (low[order + 1] + high[order + 1]) / 2)


def _jumps(sampled: Callable[[np.ndarray], np.ndarray], left: np.ndarray, right: np.ndarray, order: int) -> set[float]:
    """The points in the intervals to which a jump of the derivative of this order shrinks."""
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        of_left, of_middle, of_right = sampled(left), sampled(middle), sampled(right)
        first = _unexplained(of_left, of_middle, order, middle - left)
        second = _unexplained(of_middle, of_right, order, right - middle)
        left, right = np.where(first > second, left, middle), np.where(first > second, middle, right)
    before, after = sampled(left)[order], sampled(right)[order]
    is_jump = np.abs(after - before) > _JUMP * np.maximum(1.0, np.minimum(np.abs(before), np.abs(after)))
    points = ((left + right) / 2)[is_jump]
    rounded = np.round(points, _ROUND) + 0.0
    return set(np.where(np.abs(points - rounded) < 1e-12 * (1 + np.abs(points)), rounded, points).tolist())
