"""Where an elementwise function or one of its derivatives jumps, found by looking."""

import functools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._errors import DomainError
from ..gaussian.derivatives import sampled
from ..gaussian.places import KINK_REACH
from .sampling import size

MOST_KINKS, _NEAR = 16, 9.0  # so many within nine of zero, which a Gaussian of unit variance does not leave
_STEP = 0.01
_OFFSET = 0.00271  # so that kinks at round numbers fall between the nodes
_NEAR_ZERO = 1.0271e-6 * 1.1 ** np.arange(97)  # up to the first steps: kinks close to zero are told apart
_UNLIKE = 1.37  # distances to the left of zero are others than to the right: symmetry would hide a kink at zero
_HIGHEST = 3  # a jump of a higher derivative does not hurt quadrature
_SUSPICIOUS, _JUMP = 1e-5, 1e-6  # relative to the size of the function, or of the derivative nearby
_NOISE, _NEARBY = 1e-13, 20  # rounding, relative to the largest derivative on so many nodes to either side
_HALVINGS, _LAST = 50, 20
_POLE = 2.0  # growth of a derivative during the last halvings: one that is finite has long settled
_QUOTIENTS = 0.1  # as far from zero as derivatives of a quotient by z may be rounding
# Distances from a jump or a pole at which a derivative that is not rounding is smooth, and how much it varies there at most.
_ASIDE = 1e-9 * (1 + np.arange(16) / 64)
_SCATTER_AT_A_JUMP, _SCATTER_AT_A_POLE = 0.1, 0.75
_ROUND = 10  # decimals to which a kink is rounded if that changes nothing


@functools.lru_cache(maxsize=128)
def find_kinks(value: Callable[[Array], Array]) -> tuple[float, ...]:
    """The points within 40 of zero at which `value` or one of its first three derivatives jumps or is infinite.

    Wherever a derivative changes more over a small interval than the next one explains, the interval is halved, always
    towards the half with more to explain. What is left of a steep but smooth change vanishes; a jump stays.
    """
    far = np.arange(-KINK_REACH, KINK_REACH, _STEP) + _OFFSET
    nodes, unit = np.sort(np.concatenate([far, -_UNLIKE * _NEAR_ZERO, _NEAR_ZERO])), size(value)

    def in_units(z: Float[np.ndarray, " n"]) -> Float[np.ndarray, "orders n"]:
        return sampled(value, z) / unit

    with np.errstate(invalid="ignore", over="ignore"):
        on_nodes = in_units(nodes)
        low, high, step = on_nodes[:, :-1], on_nodes[:, 1:], np.diff(nodes)
        unexplained = np.stack([_unexplained(low, high, order, step) for order in range(_HIGHEST + 1)])
        order, at = np.nonzero(unexplained > _SUSPICIOUS * (1 + np.abs(low[: _HIGHEST + 1])))
        noise = _NOISE * np.stack([_largest_nearby(values) for values in on_nodes[: _HIGHEST + 1]])[order, at]
        found = _jumps(in_units, nodes[at], nodes[at + 1], order, noise) if len(at) else set()
    near = sum(abs(kink) <= _NEAR for kink in found)
    if near > MOST_KINKS:
        got = f"a function that jumps, or whose derivatives jump, at {near} points within {_NEAR:g} of zero"
        raise DomainError("activation", got, f"at most {MOST_KINKS} such points")
    return tuple(sorted(found))


def _unexplained(low: np.ndarray, high: np.ndarray, order: int | np.ndarray, step: np.ndarray) -> np.ndarray:
    """The change of a derivative between two nodes beyond what the next derivative accounts for."""
    at = np.arange(len(step))
    return np.abs(high[order, at] - low[order, at] - step * (low[order + 1, at] + high[order + 1, at]) / 2)


def _largest_nearby(values: np.ndarray) -> np.ndarray:
    padded = np.pad(np.abs(values), _NEARBY, mode="edge")
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEARBY + 1).max(axis=1)


def _jumps(
    sampled: Callable[[np.ndarray], np.ndarray],
    left: np.ndarray,
    right: np.ndarray,
    order: np.ndarray,
    noise: np.ndarray,
) -> set[float]:
    """The points in the intervals to which a jump, or a pole, of the derivative of the order suspected there shrinks."""
    of_left, of_right, earlier, at = sampled(left), sampled(right), np.zeros_like(left), np.arange(len(left))
    for halving in range(_HALVINGS):
        middle = (left + right) / 2
        of_middle = sampled(middle)
        first = _unexplained(of_left, of_middle, order, middle - left)
        second = _unexplained(of_middle, of_right, order, right - middle)
        in_first = first > second
        left, right = np.where(in_first, left, middle), np.where(in_first, middle, right)
        of_left, of_right = np.where(in_first, of_left, of_middle), np.where(in_first, of_middle, of_right)
        if halving == _HALVINGS - _LAST:
            earlier = np.maximum(np.abs(of_left[order, at]), np.abs(of_right[order, at]))
    before, after = of_left[order, at], of_right[order, at]
    smaller, larger = np.minimum(np.abs(before), np.abs(after)), np.maximum(np.abs(before), np.abs(after))
    is_jump = np.abs(after - before) > np.maximum(_JUMP * np.maximum(1.0, smaller), noise)
    is_pole = larger > _POLE * (1 + earlier)
    found = np.flatnonzero(is_jump | is_pole)
    if len(found) == 0:
        return set()
    points = ((left + right) / 2)[found]
    level, scatter = _aside(sampled, points, order[found])
    by_jump = is_jump[found] & ~(scatter > _SCATTER_AT_A_JUMP * np.abs(after - before)[found])
    by_pole = is_pole[found] & ~(scatter > _SCATTER_AT_A_POLE * level)
    points = points[by_jump | by_pole | (np.abs(points) > _QUOTIENTS)]
    rounded = np.round(points, _ROUND) + 0.0
    return set(np.where(np.abs(points - rounded) < 1e-12 * (1 + np.abs(points)), rounded, points).tolist())


def _aside(
    sampled: Callable[[np.ndarray], np.ndarray], points: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""The size of a derivative close to each point, and how much it varies there on one side: of $\sin(z)/z$ near zero, where
    derivatives are differences of large numbers, as much as it is large. NaN where a side has no numbers."""
    distances = np.stack([-_ASIDE, _ASIDE]) * (1 + np.abs(points))[:, None, None]
    z = points[:, None, None] + distances
    values = sampled(z.ravel()).reshape(-1, *z.shape)[order, np.arange(len(points))]
    return np.abs(values).max(axis=(1, 2)), np.ptp(values, axis=2).max(axis=1)
