"""Depth exponents of each universality class."""

import math

from ..one_input.averages import SingleInput
from ..one_input.coefficients import Growth, KernelSeries
from .classes import Exponents


def scale_invariant_exponents(series: KernelSeries) -> Exponents:
    r"""$\nu = 3A_4/A_2^2 - 1$, PDLT (5.120); the angle of two inputs falls as $1/\ell$ if there is a corner,
    PDLT (5.166)."""
    p_psi = 1.0 if series.slope_jumps else 0.0
    return Exponents(0.0, 0.0, 2 * p_psi, p_psi, -1.0, None, 3 * series.A4 / series.A2**2 - 1)


def _with_corner(p_0: float, p_perp: float, corner: bool) -> tuple[float, float]:
    r"""`p_perp` and `p_psi`, where $K_{[2]}\sim K\psi^2$.

    With a corner the angle obeys $\psi' = \psi - \frac\rho3\psi^2 - p\,\psi/\ell$, with $p$ the smooth exponent: it
    falls as $1/\ell$ at least.
    """
    p_psi = (p_perp - p_0) / 2
    if corner:
        p_psi = max(1.0, p_psi)
    return p_0 + 2 * p_psi, p_psi


def zero_kernel_exponents(series: KernelSeries, growth: Growth) -> Exponents:
    r"""$K' = K + cK^{1+p}$, $c < 0$, gives $K \simeq (p(-c)\ell)^{-1/p}$.

    For $p = 1$: $p_0 = 1$, $p_\parallel = 2$, $p_\perp = b_1/a_1$, $p_V = 1$, PDLT (5.92), (5.96)-(5.99), (5.126).
    In general $p_0 = 1/p$, $p_\parallel = 1 + 1/p$, $p_\perp = d/(pc)$, and
    $V/K^2 \to \frac13(3A_4/A_2^2 - 1)\,\ell$: $\frac23\ell$ when smooth, PDLT (5.131). The universal laws
    $p_V - 2p_0 = -1$ and $p_1 - p_0 = -1$ hold throughout, PDLT (5.129).
    """
    p_0 = 1 / growth.power
    faster_than_any_power = -math.copysign(math.inf, growth.slope_first)
    smooth = faster_than_any_power if growth.slope_first else growth.d / growth.c * p_0
    p_perp, p_psi = _with_corner(p_0, smooth, series.slope_jumps)
    nu = (3 * series.A4 / series.A2**2 - 1) / 3
    return Exponents(p_0, 1 + p_0, p_perp, p_psi, 2 * p_0 - 1, p_0 - 1, nu)


def half_stable_exponents(K: float, at: SingleInput, corner: bool) -> Exponents:
    r"""Near $K^\star$, $\Delta K' = \Delta K + \tilde a_1\Delta K^2$, PDLT (5.102): $\delta K_{[1]}\sim\ell^{-2}$ and
    $p_\perp = \chi_\perp'(K^\star)/\tilde a_1$ on the attracting side. $V \simeq \nu K^{\star2}(\ell-1)$ until
    $\ell\sim1/|\tilde a_1\Delta K|$, and a fifth of that beyond; $G^{\{1\}}\sim\ell^2$.
    """
    C_W = 1 / at.s
    p_perp, p_psi = _with_corner(0.0, C_W * at.ds / (C_W * at.ddg / 2), corner)
    return Exponents(0.0, 2.0, p_perp, p_psi, -1.0, -2.0, C_W**2 * at.v / K**2)
