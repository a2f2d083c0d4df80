"""What a deep network does to its inputs, over a grid of hyperparameters."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import DomainError, ShapeError
from ..._validation import as_floats, as_number
from ...activations import Activation, as_activation
from ..classes.classes import Stability
from ..one_input.table import KernelTable, kernel_table
from ..one_input.trust import check_continuous
from .fixed_points import chi_at_zero, every_kernel_is_fixed, stability_of, zero_is_fixed, zero_stability
from .orbit import reached
from .phases import CriticalLine, Phase, PhaseDiagram
from .roots import Roots, find_roots

_CRITICAL = 1e-9  # distance of both susceptibilities from one within which a point is called critical


@entry(nan=True)
def phase_diagram(
    activation: str | Activation | Callable[[Array], Array],
    C_b: Float[Array, " B"] | Any,
    C_W: Float[Array, " W"] | Any,
    K1: float = 1.0,
) -> PhaseDiagram:
    r"""Fixed points, stability, susceptibilities and phases on the grid `C_b` × `C_W`, PDLT (5.7)-(5.11), figure 5.1.

    **Arguments:**

    - `activation`: a name, an `Activation`, or any elementwise JAX callable.
    - `C_b`, `C_W`: the two axes, non-negative.
    - `K1`: the first-layer kernel; the map is iterated from it, and may pass over a fixed point before it settles.

    Examples:
        >>> fw.phase_diagram("relu", C_b=[0.0, 0.5], C_W=[1.0, 2.0, 3.0]).phase.tolist()
        [['vanishing', 'critical', 'exploding'], ['ordered', 'semi-critical', 'exploding']]
    """
    sigma = as_activation(activation)
    check_continuous(sigma)
    bias, weight = _axis(C_b, "C_b"), _axis(C_W, "C_W")
    start = as_number(K1, "K1", low=np.finfo(float).tiny)
    table = kernel_table(sigma)
    points, stable, chi = _all_fixed_points(table, bias, weight)
    K_star, chi_parallel, chi_perp = _reached(table, bias, weight, start, points, stable, chi)
    phase = _phases(table, bias, weight, K_star, chi_parallel, chi_perp)
    return PhaseDiagram(
        sigma.name, bias, weight, phase, K_star, chi_parallel, chi_perp, points, stable, *_critical_lines(table)
    )


def _axis(values: Any, argument: str) -> np.ndarray:
    axis = np.asarray(as_floats(values, argument))
    if axis.ndim != 1 or len(axis) == 0:
        raise ShapeError(argument, f"shape {axis.shape}", "one axis of the grid: a sequence of numbers")
    if bool((axis < 0).any()):
        raise DomainError(argument, f"a negative value, {axis.min():g}", "values >= 0")
    return axis


def _all_fixed_points(
    table: KernelTable, C_b: np.ndarray, C_W: np.ndarray
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Fixed points (B, W, R) with zero among them, whether each is stable, and both susceptibilities there."""
    roots = _with_zero(table, C_b, C_W, find_roots(table, C_b, C_W))
    order = np.lexsort((roots.K, roots.w, roots.b))
    pair = (roots.b * len(C_W) + roots.w)[order]
    rank = np.arange(len(pair)) - np.searchsorted(pair, pair)
    place = (roots.b[order], roots.w[order], rank)
    shape = (len(C_b), len(C_W), int(rank.max(initial=-1)) + 1)
    K, below, above = np.full(shape, np.nan), np.zeros(shape), np.zeros(shape)
    K[place], below[place], above[place] = roots.K[order], roots.below[order], roots.above[order]
    positive = K > 0
    parallel = np.where(np.isnan(K), np.nan, chi_at_zero(table, C_W)[:, None])
    perp = parallel.copy()
    if positive.any():
        at, weights = table.averages(K[positive]), np.broadcast_to(C_W[:, None], K.shape)[positive]
        parallel[positive], perp[positive] = weights * at.dg, weights * at.s
    stable = np.vectorize(lambda *x: stability_of(*x) is Stability.STABLE, otypes=[bool])(below, above)
    return K, stable & ~np.isnan(K), (parallel, perp)


def _with_zero(table: KernelTable, C_b: np.ndarray, C_W: np.ndarray, roots: Roots) -> Roots:
    """Add the fixed point at zero, which attracts or repels from above; below it there is nothing to repel."""
    b, w = np.nonzero(zero_is_fixed(table, C_b, C_W) & ~every_kernel_is_fixed(table, C_b, C_W))
    attracts = np.array([zero_stability(table, C_W[j]) is Stability.STABLE for j in w], dtype=bool)
    sign = np.where(attracts, 1.0, -1.0)
    added = (b, w, np.zeros(len(b)), sign, -sign)
    found = (roots.b, roots.w, roots.K, roots.below, roots.above)
    return Roots(*(np.concatenate([old, new]) for old, new in zip(found, added, strict=True)))


def _reached(
    table: KernelTable,
    C_b: np.ndarray,
    C_W: np.ndarray,
    K1: float,
    points: np.ndarray,
    stable: np.ndarray,
    chi: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The fixed point that the kernel reaches from `K1`, and both susceptibilities there."""
    shape, roots = points.shape[:2], points.shape[2]
    pairs = np.repeat(C_b, len(C_W)), np.tile(C_W, len(C_b))
    which, end = reached(table, *pairs, K1, points.reshape(-1, roots), stable.reshape(-1, roots))
    K_star = end.reshape(shape)
    parallel, perp = (np.full(shape, np.nan) for _ in range(2))
    b, w = np.nonzero(which.reshape(shape) >= 0)
    for target, source in ((parallel, chi[0]), (perp, chi[1])):
        target[b, w] = source[b, w, which.reshape(shape)[b, w]]
    neutral = every_kernel_is_fixed(table, C_b, C_W)
    K_star[neutral], parallel[neutral], perp[neutral] = K1, 1.0, 1.0
    return K_star, parallel, perp


def _phases(
    table: KernelTable,
    C_b: np.ndarray,
    C_W: np.ndarray,
    K_star: np.ndarray,
    chi_parallel: np.ndarray,
    chi_perp: np.ndarray,
) -> np.ndarray:
    critical = (np.abs(chi_parallel - 1) < _CRITICAL) & (np.abs(chi_perp - 1) < _CRITICAL)
    linear_growth = np.zeros(K_star.shape, dtype=bool)
    if table.scale_invariant:
        linear_growth = (C_b > 0)[:, None] & (np.abs(C_W * table.series.A2 - 1) < _CRITICAL)
    cases = [
        (np.isnan(K_star), Phase.UNRESOLVED),
        (linear_growth, Phase.SEMI_CRITICAL),
        (np.isinf(K_star), Phase.EXPLODING),
        (critical, Phase.CRITICAL),
        (K_star == 0, Phase.VANISHING),
        (chi_perp < 1, Phase.ORDERED),
    ]
    return np.select([mask for mask, _ in cases], [str(phase) for _, phase in cases], default=str(Phase.CHAOTIC))


def _critical_lines(table: KernelTable) -> tuple[CriticalLine, CriticalLine]:
    r"""$(C_W, C_b) = (1/\langle\sigma'^2\rangle,\;K - g/\langle\sigma'^2\rangle)$ and $(1/g',\;K - g/g')$, by $K$."""

    def line(slope: np.ndarray) -> CriticalLine:
        rising = table.is_felt(slope)
        K, g, slope = table.K[rising], table.at.g[rising], slope[rising]
        return CriticalLine(K, 1 / slope, K - g / slope)

    return line(table.at.s), line(table.at.dg)
