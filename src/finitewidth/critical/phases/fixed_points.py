"""Fixed points of the single-input kernel and what the kernel does near them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._arrays import Array
from ..._entry import entry, warn
from ..._result import Result
from ..._validation import as_number
from ...activations import Activation, as_activation
from ...networks.layer import kernel_of
from ..classes.classes import Stability
from ..one_input.table import KernelTable, kernel_table
from ..one_input.trust import check_continuous
from .roots import Roots, find_roots

_CRITICAL = 1e-12  # distance of chi from one within which only the next order decides


@dataclass(frozen=True, repr=False)
class FixedPoint(Result):
    r"""$K^\star = C_b + C_W g(K^\star)$ with the susceptibilities there. `K_star` is `None` when every kernel is
    one."""

    K_star: float | None
    chi_parallel: float
    chi_perp: float
    stability: Stability


@entry()
def fixed_points(
    activation: str | Activation | Callable[[Array], Array], C_b: float, C_W: float
) -> tuple[FixedPoint, ...]:
    r"""All fixed points $K^\star = C_b + C_W\,g(K^\star)$ by increasing $K^\star$, PDLT (5.7)-(5.11).

    A fixed point is stable when $|\chi_\parallel(K^\star)| < 1$. Searched: $K = 0$ and, if the averages of the
    activation can be resolved there, $10^{-8} \le K \le 10^6$.

    Examples:
        >>> [point.K_star for point in fw.critical.fixed_points("relu", C_b=1.0, C_W=1.0)]
        [2.0]
    """
    sigma = as_activation(activation)
    check_continuous(sigma)
    bias = np.array([as_number(C_b, "C_b", low=0.0)])
    weight = np.array([as_number(C_W, "C_W", low=0.0)])
    table = kernel_table(sigma)
    if every_kernel_is_fixed(table, bias, weight)[0, 0]:
        return (FixedPoint(None, 1.0, 1.0, Stability.NEUTRAL),)
    if not table.reaches_top and kernel_of(bias[0], weight[0], table.at.g[-1]) > table.K[-1]:
        warn(_not_searched(table))
    roots = find_roots(table, bias, weight)
    points = [_positive(table, weight[0], roots, i) for i in np.argsort(roots.K).tolist()]
    return tuple(_zero(table, bias[0], weight[0]) + points)


def _not_searched(table: KernelTable) -> str:
    return (
        f"the kernel leaves the range in which averages of {table.activation.name!r} can be resolved: "
        f"fixed points above K = {table.K[-1]:.3g} were not searched"
    )


def every_kernel_is_fixed(table: KernelTable, C_b: np.ndarray, C_W: np.ndarray) -> np.ndarray:
    r"""Whether $C_b = 0$ and $C_W = 1/A_2$ with a scale-invariant activation, PDLT (5.67), for each pair."""
    if not table.scale_invariant:
        return np.zeros((len(C_b), len(C_W)), dtype=bool)
    return (C_b == 0)[:, None] & (np.abs(C_W * table.series.A2 - 1) < _CRITICAL)


def zero_is_fixed(table: KernelTable, C_b: np.ndarray, C_W: np.ndarray) -> np.ndarray:
    """Whether a vanishing kernel stays zero, for each pair."""
    return (C_b == 0)[:, None] & ((C_W == 0) | (table.series.sigma_0 == 0))


def chi_at_zero(table: KernelTable, C_W: np.ndarray) -> np.ndarray:
    r"""Both susceptibilities at a vanishing kernel, $C_W A_2$: infinite where the slope at zero is."""
    return np.where(C_W == 0, 0.0, np.where(C_W == 0, 1.0, C_W) * table.series.A2)


def zero_stability(table: KernelTable, C_W: float) -> Stability:
    r"""From $\chi(0) = C_W\sigma_1^2$, or from the first correction when that is one, PDLT (5.89)-(5.92)."""
    excess = float(chi_at_zero(table, np.array([C_W]))[0]) - 1
    if abs(excess) < _CRITICAL:  # only where sigma(0) = 0: otherwise zero is fixed for C_W = 0 alone
        excess = table.growth().c
    return Stability.STABLE if excess < 0 else Stability.UNSTABLE


def _zero(table: KernelTable, C_b: float, C_W: float) -> list[FixedPoint]:
    if not zero_is_fixed(table, np.array([C_b]), np.array([C_W])).item():
        return []
    chi = float(chi_at_zero(table, np.array([C_W]))[0])
    return [FixedPoint(0.0, chi, chi, zero_stability(table, C_W))]


def _positive(table: KernelTable, C_W: float, roots: Roots, index: int) -> FixedPoint:
    K = float(roots.K[index])
    at = table.averages(np.array([K]))
    stability = stability_of(roots.below[index], roots.above[index])
    return FixedPoint(K, float(C_W * at.dg[0]), float(C_W * at.s[0]), stability)


def stability_of(below: float, above: float) -> Stability:
    r"""From the signs of $K'-K$ on either side of the fixed point; equal signs are half-stable.

    The kernel cannot oscillate away: $\chi_\parallel \ge -\frac12$ at every fixed point (`orbit`).
    """
    if below == above:
        return Stability.FROM_BELOW if below > 0 else Stability.FROM_ABOVE
    return Stability.STABLE if below > 0 else Stability.UNSTABLE
