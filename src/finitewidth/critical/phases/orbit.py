r"""Where the kernel really goes: the map $K \to C_b + C_Wg(K)$, PDLT (5.4), iterated until its end is certain.

The map may fall: $g$ of $z^2e^{-z^2}$ does, at large kernels, and one step can then jump over a fixed point. Not without
limits: $Kg'/g \ge -\frac12$, because $g' = \frac1{2K^2}\langle\sigma^2(z^2-K)\rangle$, PDLT (5.50). In $\ln K$ the map falls
nowhere faster than $-\frac12$, so that

- a step that passes a fixed point ends at most half as far on its other side;
- no two kernels map into each other (the chord between them would have slope $-1$), and a map of a line without cycles of
  two has no cycles at all: every orbit converges (Sharkovskii, Coppel). The kernel of one input never oscillates for ever,
  and is never chaotic, whatever the activation.
"""

import numpy as np

from ...networks.layer import kernel_of
from ..one_input.table import KernelTable

_STEPS = 1000
_AT_REST = 1e-12  # relative step below which a kernel is a fixed point
_HERE = 1e-9  # relative distance within which it is that one


def reached(
    table: KernelTable, C_b: np.ndarray, C_W: np.ndarray, K1: float, points: np.ndarray, stable: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """For pairs of hyperparameters with their fixed points (pairs, R), increasing and padded with NaN: which of them the kernel
    reaches from `K1`, or -1, and the kernel that it reaches: `inf` beyond all bounds, NaN where averages cannot be believed."""
    which, end = np.full(len(C_b), -1), np.full(len(C_b), np.nan)
    K, open_ = np.full(len(C_b), K1), np.arange(len(C_b))
    padded = np.concatenate([points, np.full((len(points), 1), np.nan)], axis=1)
    for step in range(_STEPS):
        open_ = open_[_believed(table, K[open_])]
        if len(open_) == 0:
            break
        at, (distinct, same) = K[open_], np.unique(K[open_], return_inverse=True)
        after = kernel_of(C_b[open_], C_W[open_], table.averages(distinct).g[same])
        index, certain = _next(table, at, after, points[open_], stable[open_])
        index = np.where(
            after == 0, 0, index
        )  # no bias, and nothing passes the activation: zero is the first fixed point
        certain |= (after == 0) | ((step == _STEPS - 1) & (index < points.shape[1]))  # so slow that it jumps no more
        grows = (index == points.shape[1]) & (after > at)
        end[open_] = np.where(certain, padded[open_, index], np.where(grows & table.reaches_top, np.inf, np.nan))
        which[open_] = np.where(certain & (index < points.shape[1]), index, -1)
        K[open_] = after
        open_ = open_[~certain & (index < points.shape[1])]
    return which, end


def _believed(table: KernelTable, K: np.ndarray) -> np.ndarray:
    place = np.searchsorted(table.K, K)
    believed = (place > 0) & (place < len(table.K))
    outside = np.unique(K[~believed & (K > 0) & np.isfinite(K)])
    return believed | np.isin(K, [k for k in outside if table.believes(k)])


def _next(
    table: KernelTable, K: np.ndarray, after: np.ndarray, points: np.ndarray, stable: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The next fixed point in the direction in which the kernel moves, by index (R: there is none), and whether it is certain
    that the kernel ends there."""
    count = points.shape[1]
    here = (np.abs(points - K[:, None]) <= _HERE * K[:, None]) & (np.abs(after - K) <= _AT_REST * K)[:, None]
    up = (after > K)[:, None]
    ahead = here | (np.where(up, points >= K[:, None], points <= K[:, None]) & ~here.any(axis=1, keepdims=True))
    distance = np.where(ahead, np.abs(points - K[:, None]), np.inf)
    index = np.where(ahead.any(axis=1), distance.argmin(axis=1), count) if count else np.zeros(len(K), dtype=int)
    certain = index < count
    falling = table.K[table.at.dg < 0]
    for i in np.flatnonzero(certain) if len(falling) else []:
        target, beyond = points[i, index[i]], index[i] + (1 if up[i, 0] else -1)
        between = (falling > min(K[i], target)) & (falling < max(K[i], target))
        far_side = points[i, beyond] if 0 <= beyond < count else np.nan
        lands_here = stable[i, index[i]] and not _within_half(K[i], target, far_side)
        certain[i] = here[i].any() or target == 0 or not between.any() or lands_here
    return index, certain


def _within_half(K: float, target: float, other: float) -> bool:
    """Whether a step over `target` might reach the `other` fixed point beyond it: at zero, it is infinitely far."""
    return bool(other > 0 and abs(np.log(other / target)) <= abs(np.log(K / target)) / 2)
