"""The fate of inputs in deep networks, as a label and as numbers on a grid."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import Bool, Float

from ..._result import Result
from ..._table import Table


class Phase(StrEnum):
    r"""The fate of inputs in a deep network.

    `ORDERED`, `CHAOTIC`: the kernel settles, and two inputs become the same ($\chi_\perp < 1$) or unrelated
    ($\chi_\perp > 1$). `CRITICAL`: both susceptibilities are one. `VANISHING`: the kernel falls to zero exponentially or faster.
    `EXPLODING`: no fixed point holds the kernel below $10^6$. `SEMI_CRITICAL`: scale-invariant, $\chi = 1$,
    $C_b > 0$: it grows linearly. `UNRESOLVED`: the kernel goes where averages of this activation cannot
    be computed.
    """

    ORDERED = "ordered"
    CHAOTIC = "chaotic"
    CRITICAL = "critical"
    VANISHING = "vanishing"
    EXPLODING = "exploding"
    SEMI_CRITICAL = "semi-critical"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True, repr=False)
class CriticalLine(Result):
    """Hyperparameters at which one susceptibility is one at the fixed point `K`; `C_b` may come out negative."""

    K: Float[np.ndarray, " k"]
    C_W: Float[np.ndarray, " k"]
    C_b: Float[np.ndarray, " k"]


@dataclass(frozen=True, repr=False)
class PhaseDiagram(Result):
    r"""Fixed points and depth scales on a grid; rows follow `C_b`, columns `C_W`.

    - `phase`: a `Phase` for each point. `K_star`: the fixed point that the kernel reaches from `K1`; `inf` where it
      grows without bound, NaN where the phase is `unresolved`. `chi_parallel`, `chi_perp`: there, NaN where the kernel
      has no fixed point.
    - `fixed_points`, `stable`: all fixed points by increasing kernel, padded with NaN, and which of them attract from
      both sides.
    - `perp_line`, `parallel_line`: where $\chi_\perp = 1$ and $\chi_\parallel = 1$, PDLT (5.71)-(5.72).
    """

    activation: str
    C_b: Float[np.ndarray, " B"]
    C_W: Float[np.ndarray, " W"]
    phase: np.ndarray
    K_star: Float[np.ndarray, "B W"]
    chi_parallel: Float[np.ndarray, "B W"]
    chi_perp: Float[np.ndarray, "B W"]
    fixed_points: Float[np.ndarray, "B W R"]
    stable: Bool[np.ndarray, "B W R"]
    perp_line: CriticalLine
    parallel_line: CriticalLine

    def table(self) -> Table:
        """One row for each point of the grid."""
        C_b, C_W = np.meshgrid(self.C_b, self.C_W, indexing="ij")
        grids = {name: getattr(self, name) for name in ("phase", "K_star", "chi_parallel", "chi_perp")}
        columns = {name: np.ravel(grid) for name, grid in {"C_b": C_b, "C_W": C_W, **grids}.items()}
        shares = {str(phase): f"{np.mean(self.phase == phase):.0%}" for phase in Phase if (self.phase == phase).any()}
        return Table(
            {"activation": self.activation, "phases": shares}, columns | {"phase": columns["phase"].astype(str)}
        )

    @property
    def depth_parallel(self) -> Float[np.ndarray, "B W"]:
        r"""Layers over which the kernel relaxes: $1/|\ln|\chi_\parallel||$, infinite at criticality."""
        return _depth_scale(self.chi_parallel)

    @property
    def depth_perp(self) -> Float[np.ndarray, "B W"]:
        r"""Layers over which differences in direction die or grow: $1/|\ln\chi_\perp|$, infinite at criticality."""
        return _depth_scale(self.chi_perp)


def _depth_scale(chi: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return 1 / np.abs(np.log(np.abs(chi)))
