"""Critical tuning of an arbitrary activation, PDLT section 5.3."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._arrays import Array
from ..._entry import entry
from ...activations import Activation, as_activation
from ..one_input.kinks import has_corner
from ..one_input.table import HIGHEST, LOWEST, KernelTable, kernel_table
from ..one_input.trust import infinite_slope
from .classes import Criticality, CriticalPoint, Stability, UniversalityClass
from .critical_line import averages_at_point, critical_point, on_the_line
from .exponents import half_stable_exponents, scale_invariant_exponents, zero_kernel_exponents

# Below this the difference of the two susceptibilities has no sign: it is rounding, or the ratio tends to one.
_UNDECIDED = 1e-9
_FLAT = 16  # entries of the table without a sign: no root lies between them, but a line of critical points may


@entry()
def criticality(activation: str | Activation | Callable[[Array], Array]) -> Criticality:
    r"""The verdict on an activation in networks without skip connections: `criticality` of `large_depth/with_skips.py`, which is the
    public one and adds these.

    Looks for kernels with $\chi_\parallel = \chi_\perp = 1$, PDLT (5.71)-(5.73): at $K^\star = 0$ through the series
    of the activation, PDLT (5.83)-(5.90), and at finite $K^\star$ through the roots of $\mathcal R(K) = 1$.
    """
    sigma = as_activation(activation)
    why = infinite_slope(sigma)
    if why is not None:
        reason = f"the activation {why}, so chi_perp is infinite for every kernel"
        return Criticality(sigma.name, UniversalityClass.NONE, (), reason, (LOWEST, HIGHEST))
    return _classify(kernel_table(sigma))


def _classify(table: KernelTable) -> Criticality:
    if table.scale_invariant:
        return _scale_invariant(table)
    if not table.sloped.any():
        reason = f"the activation is constant as far as kernels up to {table.K[-1]:.2g} reach: no C_W makes chi_perp 1"
        return Criticality(table.activation.name, UniversalityClass.NONE, (), reason, _searched(table))
    zero, finite = _at_zero(table), _at_finite_kernels(table)
    points = ((zero.point,) if zero.point else ()) + finite.points
    name, searched = table.activation.name, _searched(table)
    coefficients = _coefficients(table)
    if zero.point and zero.point.stability is Stability.STABLE:
        exponents = zero_kernel_exponents(table.series, table.growth())
        return Criticality(name, UniversalityClass.ZERO, points, zero.reason, searched, *coefficients, exponents)
    if finite.points:
        K_star = float(finite.points[0].K_star or 0.0)
        exponents = half_stable_exponents(K_star, averages_at_point(table, K_star), has_corner(table.activation))
        reason = f"{zero.reason}; {finite.reason}"
        return Criticality(name, UniversalityClass.HALF_STABLE, points, reason, searched, *coefficients, exponents)
    verdict = UniversalityClass.UNSTABLE_AT_ZERO if zero.point else UniversalityClass.NONE
    return Criticality(name, verdict, points, f"{zero.reason}; {finite.reason}", searched, *coefficients)


def _scale_invariant(table: KernelTable) -> Criticality:
    r"""$(C_b, C_W) = (0, 1/A_2)$ at any kernel, PDLT (5.67)."""
    point = CriticalPoint(0.0, 1 / table.series.A2, None, Stability.NEUTRAL, 0.0)
    reason = "chi_parallel = chi_perp = A_2 C_W for every kernel"
    searched = _searched(table)
    coefficients = _coefficients(table)
    exponents = scale_invariant_exponents(table.series)
    return Criticality(
        table.activation.name, UniversalityClass.SCALE_INVARIANT, (point,), reason, searched, *coefficients, exponents
    )


def _searched(table: KernelTable) -> tuple[float, float]:
    return float(table.K[0]), float(table.K[-1])


def _coefficients(table: KernelTable) -> tuple[float, float, float] | tuple[None, None, None]:
    series = table.series
    if series.sigma_0 != 0 or series.A2 == 0 or not (series.complete and series.smooth):
        return None, None, None
    return series.a1, series.a2, series.b1


@dataclass(frozen=True)
class _Finding:
    points: tuple[CriticalPoint, ...]
    reason: str

    @property
    def point(self) -> CriticalPoint | None:
        return self.points[0] if self.points else None


def _at_zero(table: KernelTable) -> _Finding:
    r"""$K^\star = 0$ needs $\sigma_0 = 0$ and $\sigma_1 \neq 0$; then $(C_b, C_W) = (0, 1/\sigma_1^2)$, PDLT (5.90)."""
    series = table.series
    if series.A2 == 0:
        return _Finding((), "at K = 0 the slope vanishes and C_W = 1/<sigma'^2> diverges")
    if math.isinf(series.A2):
        return _Finding((), "at K = 0 the slope is infinite and C_W = 1/<sigma'^2> vanishes")
    if series.sigma_0 != 0:
        C_b = -(series.sigma_0**2) / series.A2
        return _Finding((), f"at K = 0, sigma(0) = {series.sigma_0:.6g} would need C_b = {C_b:.6g} < 0")
    growth = table.growth()
    stability = Stability.STABLE if growth.c < 0 else Stability.UNSTABLE
    point = CriticalPoint(0.0, 1 / series.A2, 0.0, stability, growth.c, 1 + growth.power)
    if math.isinf(growth.power):
        law = f"the kernel {'falls' if growth.c < 0 else 'grows'} exponentially slowly near K* = 0"
    else:
        law = f"near K* = 0 the kernel map is K' = K {_term(growth.c)}K^{1 + growth.power:g}"
    return _Finding((point,), f"{law}, so K* = 0 {'attracts' if growth.c < 0 else 'repels'}")


def _term(coefficient: float) -> str:
    """`- 2 `, `+ 0.75 `, and `- ` for minus one."""
    size = f"{abs(coefficient):.6g}"
    return f"{'-' if coefficient < 0 else '+'} {'' if size == '1' else size + ' '}"


def _at_finite_kernels(table: KernelTable) -> _Finding:
    r"""Roots of $\mathcal R = \chi_\perp/\chi_\parallel = 1$, PDLT (5.73), that allow $C_b \ge 0$,
    PDLT (5.71)-(5.72), or the line of them where $\mathcal R$ is one throughout."""
    # Written so that it neither diverges where chi_parallel = 0 nor vanishes anywhere but at a root.
    size = np.where(table.sloped, table.at.s + np.abs(table.at.dg), np.inf)
    excess = (table.at.s - table.at.dg) / size
    decided = np.flatnonzero(np.abs(excess) > _UNDECIDED)
    crossings = [(i, j) for i, j in itertools.pairwise(decided) if excess[i] * excess[j] < 0 and j - i < _FLAT]

    points, refused = [], []
    for i, j in crossings:
        K = table.root(lambda _, at: at.s - at.dg, table.K[i], table.K[j])
        point = critical_point(table, K)
        (points if point.C_b >= 0 else refused).append(point)
    if points:
        return _Finding(
            tuple(points), f"chi_perp = chi_parallel at K* = {', '.join(f'{p.K_star:.6g}' for p in points)}"
        )
    line = on_the_line(table, np.abs(excess) <= _UNDECIDED)
    if line is not None:
        return _Finding(*line)
    if len(decided) == 0:
        return _Finding((), "chi_perp = chi_parallel for every kernel, but C_b < 0 would be needed")
    if refused:
        where = ", ".join(f"K = {p.K_star:.6g} (C_b = {p.C_b:.6g})" for p in refused)
        return _Finding((), f"chi_perp = chi_parallel only at {where}, where C_b < 0")
    return _Finding((), f"chi_perp/chi_parallel does not cross 1: {_range_of_ratio(table)}")


def _range_of_ratio(table: KernelTable) -> str:
    seen = table.sloped
    K, s, dg = table.K[seen], table.at.s[seen], table.at.dg[seen]
    low, high = f"{K[0]:.2g}", f"{K[-1]:.2g}"
    if bool((dg <= 0).any()):
        return f"<sigma'^2> exceeds g'(K) for K from {low} to {high}"
    ratio = s / dg
    return f"it lies between {ratio.min():.4g} and {ratio.max():.4g} for K from {low} to {high}"
