r"""All solutions of $K = C_b + C_W\,g(K)$, PDLT (5.7), for many hyperparameters at once.

$F(K) = C_b + C_W g(K) - K$ is monotonic between the kernels where $\chi_\parallel = C_W g' = 1$, and these depend on
$C_W$ alone: once they are known, roots are changes of sign, and none can hide between two entries of the table.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from ...networks.layer import kernel_of
from ..one_input.table import KernelTable

_DOUBLE = 1e-12  # F/K at a turning point below which the two roots beside it are one double root
_ROUNDING = 1e-13  # relative size below which a difference has no sign
_ITERATIONS = 60
_SMALL_STEP = 1e-8
_NO_VALUE = 4e-16

Equation = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Values and slopes at kernels `K` of the equations numbered `at`."""


@dataclass(frozen=True)
class Roots:
    """Roots of all pairs in one list: indices of the pair, the root, and the sign of F on either side of it."""

    b: np.ndarray
    w: np.ndarray
    K: np.ndarray
    below: np.ndarray  # +1: the kernel grows into the root from below
    above: np.ndarray  # -1: the kernel falls into the root from above


def find_roots(table: KernelTable, C_b: np.ndarray, C_W: np.ndarray) -> Roots:
    """Positive roots within the table, and below it when F(0) > 0, for each pair of `C_b` and `C_W`."""
    turning = _turning_points(table, C_W)
    found = [_signs(table, C_b, w, C_W[w], turning[w]) for w in range(len(C_W))]
    simple, double = (Roots(*map(np.concatenate, zip(*parts, strict=True))) for parts in zip(*found, strict=True))

    b, w = C_b[simple.b], C_W[simple.w]

    def guess(K: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        g, dg, _ = table.interpolated(K)
        return kernel_of(b[at], w[at], g) - K, w[at] * dg - 1

    def exact(K: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        averages = table.averages(K)
        return kernel_of(b[at], w[at], averages.g) - K, w[at] * averages.dg - 1

    K = _solve(guess, exact, simple.K[:, 0], simple.K[:, 1], simple.below)
    refined = Roots(simple.b, simple.w, K, simple.below, simple.above)
    return Roots(*(np.concatenate([getattr(refined, f.name), getattr(double, f.name)]) for f in fields(Roots)))


def _turning_points(table: KernelTable, C_W: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    r"""For each `C_W`, the kernels with $C_W g'(K) = 1$, and $g$ there."""
    slope = C_W[:, None] * table.at.dg - 1
    sign = np.where(np.abs(slope) > _ROUNDING, np.sign(slope), 0.0)
    w, before, after = crossings(sign)

    def guess(K: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, dg, ddg = table.interpolated(K)
        return C_W[w[at]] * dg - 1, C_W[w[at]] * ddg

    def exact(K: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        averages = table.averages(K)
        return C_W[w[at]] * averages.dg - 1, C_W[w[at]] * averages.ddg

    K = _solve(guess, exact, table.K[before], table.K[after], sign[w, before])
    g = table.averages(K).g if len(K) else K
    return [(K[w == i], g[w == i]) for i in range(len(C_W))]


def _signs(
    table: KernelTable, C_b: np.ndarray, w: int, C_W: float, turning: tuple[np.ndarray, np.ndarray]
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Brackets of simple roots, and double roots, for all `C_b` at one `C_W`: the fields of two `Roots`."""
    K = np.concatenate([[0.0], table.K, turning[0]])
    g = np.concatenate([[table.series.sigma_0**2], table.at.g, turning[1]])
    tolerance = np.full(len(K), _ROUNDING)
    tolerance[len(K) - len(turning[0]) :] = _DOUBLE
    order = np.argsort(K)
    K, g, tolerance = K[order], g[order], tolerance[order]
    F = kernel_of(C_b[:, None], C_W, g) - K
    sign = np.where(np.abs(F) > tolerance * K, np.sign(F), 0.0)

    b, before, after = crossings(sign)
    # A root below the table lies above F(0)/2, because F falls there no faster than K grows.
    low = np.where(K[before] > 0, K[before], F[b, 0] / 2)
    below = sign[b, before]
    simple = (b, np.full(len(b), w), np.stack([low, K[after]], axis=1), below, -below)

    left, right = _nearest_sign(sign), _nearest_sign(sign[:, ::-1])[:, ::-1]
    b, k = np.nonzero((sign == 0) & (tolerance == _DOUBLE) & (left == right) & (left != 0))
    return simple, (b, np.full(len(b), w), K[k], left[b, k], right[b, k])


def crossings(sign: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, last entry before and first entry after each change of sign along the rows; zeros are passed over."""
    last = _last_nonzero(sign)
    row, after = np.nonzero(sign[:, 1:])
    after = after + 1
    before = last[row, after - 1]
    changed = (before >= 0) & (sign[row, before] * sign[row, after] < 0)
    return row[changed], before[changed], after[changed]


def _last_nonzero(sign: np.ndarray) -> np.ndarray:
    return np.maximum.accumulate(np.where(sign != 0, np.arange(sign.shape[1]), -1), axis=1)


def _nearest_sign(sign: np.ndarray) -> np.ndarray:
    """The last non-zero sign at or before each entry, zero if there is none."""
    last = _last_nonzero(sign)
    return np.where(last >= 0, np.take_along_axis(sign, np.maximum(last, 0), axis=1), 0.0)


def _solve(guess: Equation, exact: Equation, low: np.ndarray, high: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """Roots in the brackets from `low` to `high`, where `sign` is the sign at `low`: first of `guess`, then of
    `exact`."""
    return _newton(exact, low, high, sign, _newton(guess, low, high, sign, np.sqrt(low * high)))


def _newton(equation: Equation, low: np.ndarray, high: np.ndarray, sign: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Newton's method kept inside its brackets, for all roots at once; those that have settled are left alone."""
    K, low, high = start.copy(), low.copy(), high.copy()
    open_ = np.arange(len(K))
    for _ in range(_ITERATIONS):
        if len(open_) == 0:
            break
        at = K[open_]
        value, slope = equation(at, open_)
        before = np.sign(value) == sign[open_]
        low[open_], high[open_] = np.where(before, at, low[open_]), np.where(before, high[open_], at)
        newton = at - value / np.where(slope == 0, np.inf, slope)
        inside = (newton > low[open_]) & (newton < high[open_])
        K[open_] = np.where(inside, newton, np.where(value == 0, at, np.sqrt(low[open_] * high[open_])))
        # The step is quadratic: a step this small leaves an error far below rounding.
        open_ = open_[(np.abs(K[open_] - at) > _SMALL_STEP * at) & (np.abs(value) > _NO_VALUE * np.minimum(at, 1.0))]
    return K
