r"""Critical points at finite kernels, and lines of them.

An activation made of straight pieces has $\chi_\parallel - \chi_\perp = C_W\sum_c\sigma(c)\,[\sigma']_c\,p_K(c)$, from
PDLT (5.50)-(5.51): with $\sigma = 0$ at all its kinks (soft shrinkage, a shifted ReLU) it is critical at every kernel at which
$C_b = K - \langle\sigma^2\rangle/\langle\sigma'^2\rangle \ge 0$, PDLT (5.72), each with its own hyperparameters.
"""

import numpy as np

from ..one_input.averages import SingleInput
from ..one_input.table import KernelTable
from .classes import CriticalPoint, Stability

_PREFERRED = 1.0  # the kernel of pre-activations of unit variance
_SLOPE = 0.1  # share of the largest <sigma'^2> on the line below which too few inputs pass the activation at all
_POSITIVE = 1e-6  # C_b/K above which it is positive beyond doubt
_MATTERS = 1e-6  # share of the largest <sigma'^2> below which hardly any input passes
_DECADE = 64  # entries of the table: a shorter stretch is not a line


def averages_at_point(table: KernelTable, K: float) -> SingleInput:
    """All averages at one kernel."""
    return SingleInput(*(float(part[0]) for part in table.averages(np.array([K]))))


def critical_point(table: KernelTable, K: float) -> CriticalPoint:
    r"""$C_W = 1/\langle\sigma'^2\rangle$ and $C_b = K - g/\langle\sigma'^2\rangle$, PDLT (5.71)-(5.72); by the sign of
    $\tilde a_1 = \frac12C_Wg''$ it attracts from below or from above, PDLT (5.102)."""
    at = averages_at_point(table, K)
    curvature = at.ddg / at.s / 2
    stability = Stability.FROM_BELOW if curvature > 0 else Stability.FROM_ABOVE
    return CriticalPoint(K - at.g / at.s, 1 / at.s, K, stability, curvature)


def on_the_line(table: KernelTable, critical: np.ndarray) -> tuple[tuple[CriticalPoint], str] | None:
    """One point of a line of critical points, and why this one; `critical` tells at which kernels of the table
    chi_perp = chi_parallel."""
    K, s = table.K, table.at.s
    elsewhere = np.flatnonzero(~critical & (s > _MATTERS * s.max()))
    if len(elsewhere):  # a ratio that tends to one at large kernels is not one there
        critical = critical & (K[elsewhere[-1]] > K)
    allowed = critical & table.sloped & (table.at.g < (1 - _POSITIVE) * K * s)
    if allowed.sum() < _DECADE:
        return None
    suitable = np.flatnonzero(allowed & (s >= _SLOPE * s[allowed].max()))
    chosen = suitable[np.abs(np.log(K[suitable] / _PREFERRED)).argmin()]
    gaps = np.flatnonzero(~np.pad(allowed, 1))  # one entry late, for the padding
    first, last = gaps[gaps <= chosen].max(), gaps[gaps > chosen + 1].min() - 2
    ends = f"from {K[first]:.2g} to {K[last]:.2g}"
    nearest = float(K[chosen])
    if abs(nearest - _PREFERRED) < 1e-9:  # an entry of the table, but for rounding
        nearest, why = _PREFERRED, "that of pre-activations of unit variance"
    else:
        why = f"the nearest to {_PREFERRED:g} at which <sigma'^2> is at least a tenth of the largest on this line"
    return (
        (critical_point(table, nearest),),
        f"chi_perp = chi_parallel, to nine digits, at every kernel {ends}, a line of critical points with "
        f"C_W = 1/<sigma'^2> and C_b = K* - <sigma^2>/<sigma'^2>: K* = {nearest:.6g} is taken, {why}",
    )
