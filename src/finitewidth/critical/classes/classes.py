"""The verdict on an activation: universality class, critical points, coefficients and depth exponents."""

import math
from dataclasses import dataclass
from enum import StrEnum

from ..._result import Result

_LARGEST_EXPONENT = 10.0  # to be listed: laws with far larger ones set in only after thousands of layers


class UniversalityClass(StrEnum):
    """How the kernel of a critical network behaves in depth, PDLT section 5.3."""

    SCALE_INVARIANT = "scale-invariant"
    ZERO = "K*=0"
    HALF_STABLE = "half-stable"
    UNSTABLE_AT_ZERO = "unstable at K*=0"
    NONE = "none"


class Stability(StrEnum):
    """What the kernel does near a fixed point."""

    STABLE = "stable"
    UNSTABLE = "unstable"
    FROM_BELOW = "attracts from below only"
    FROM_ABOVE = "attracts from above only"
    NEUTRAL = "neutral: every kernel is a fixed point"


@dataclass(frozen=True, repr=False)
class CriticalPoint(Result):
    r"""A setting with $\chi_\parallel(K^\star) = \chi_\perp(K^\star) = 1$, PDLT (5.55)-(5.56).

    Near it $\Delta K' = \Delta K + \tilde a_1\,\Delta K^{q}$ with $\tilde a_1$ = `a1_tilde` and $q$ = `order`: 2 unless
    the activation is fine-tuned (3, 4, ...), kinked at zero (3/2), or differs from a scale-invariant one by
    exponentially little (infinite). `K_star` is `None` when every kernel is a fixed point.
    """

    C_b: float
    C_W: float
    K_star: float | None
    stability: Stability
    a1_tilde: float
    order: float = 2.0

    @property
    def attracts(self) -> bool:
        """Whether some kernels flow into it."""
        return self.stability is not Stability.UNSTABLE

    def __str__(self) -> str:
        where = "any" if self.K_star is None else f"{self.K_star:.10g}"
        return f"(C_b, C_W) = ({self.C_b:.10g}, {self.C_W:.10g}), K* = {where}, {self.stability}"


@dataclass(frozen=True, repr=False)
class Exponents(Result):
    r"""Powers of depth at criticality: a quantity $\sim\ell^{-p}$, so a negative $p$ is growth; PDLT (5.93), (5.129).

    - `p_0`: the kernel $K$; `p_parallel`, `p_perp`: $\delta K_{[1]}$ and $\delta\delta K_{[2]}$, differences of two
      inputs in norm and in direction (infinite: faster than any power); `p_psi`: the angle between them.
    - `p_V`, `p_1`: the vertex $V$ and the correction $G^{\{1\}}$ (`None`: it vanishes identically).
    - `nu`: $V/K^2 \to \nu\,\ell$, so that fluctuations are $\nu\,\ell/n$.
    """

    p_0: float
    p_parallel: float
    p_perp: float
    p_psi: float
    p_V: float
    p_1: float | None
    nu: float


@dataclass(frozen=True, repr=False)
class Criticality(Result):
    r"""What `criticality` found. `str()` of it reads as a paragraph.

    - `universality_class`, `critical_points` (by increasing $K^\star$), `reason`: the verdict, and why, in words.
    - `a1`, `a2`, `b1`: coefficients of PDLT (5.86)-(5.88); `None` unless the activation is smooth at zero,
      vanishes there and has a slope there.
    - `exponents`: at the recommended point, `None` when there is none.
    - `searched`: the kernels between which roots were looked for.
    """

    activation: str
    universality_class: UniversalityClass
    critical_points: tuple[CriticalPoint, ...]
    reason: str
    searched: tuple[float, float]
    a1: float | None = None
    a2: float | None = None
    b1: float | None = None
    exponents: Exponents | None = None

    @property
    def tunable(self) -> bool:
        """Whether there is a critical point that attracts."""
        return self.point is not None

    @property
    def point(self) -> CriticalPoint | None:
        """The critical point to initialise at: the one with the smallest kernel among those that attract."""
        return next((point for point in self.critical_points if point.attracts), None)

    def __str__(self) -> str:
        verdict = "tunable" if self.tunable else "not tunable"
        lines = [f"{self.activation}: {self.universality_class} ({verdict})", f"  {self.reason}"]
        lines += [f"  critical point: {point}" for point in self.critical_points]
        if self.a1 is not None:
            lines.append(f"  a1 = {self.a1:.6g}, a2 = {self.a2:.6g}, b1 = {self.b1:.6g}")
        if self.exponents is not None:
            e = self.exponents
            powers = dict(p_0=e.p_0, p_par=e.p_parallel, p_perp=e.p_perp, p_psi=e.p_psi, p_V=e.p_V, p_1=e.p_1)
            shown = {name: f"{round(power, 12) + 0.0:.4g}" for name, power in powers.items() if power is not None}
            listed = ", ".join(f"{name} = {power}" for name, power in shown.items())
            far = max(abs(power) for power in powers.values() if power is not None and math.isfinite(power))
            if self.universality_class is UniversalityClass.HALF_STABLE and far > _LARGEST_EXPONENT and self.point:
                onset = 1 / abs(self.point.a1_tilde * (self.point.K_star or 1.0))
                lines.append(
                    f"  exponents, up to {far:.0f}, are not listed: they hold after about {onset:.0f} layers only; "
                    f"V/(n K^2) -> {e.nu:.6g} l/n for kernels that start at K*"
                )
            else:
                lines.append(f"  exponents: {listed}; V/(n K^2) -> {e.nu:.6g} l/n")
        return "\n".join(lines)
