"""Regions of hyperparameters and the two critical lines between them, PDLT figure 5.1."""

from typing import TYPE_CHECKING

import numpy as np

from .._entry import entry
from .._result import picture_of
from ..critical import Criticality, Phase, PhaseDiagram
from .style import GREY, ORANGE, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {
    Phase.ORDERED: "#9ecae1",
    Phase.CHAOTIC: "#fdbe85",
    Phase.CRITICAL: "#31a354",
    Phase.VANISHING: "#deebf7",
    Phase.EXPLODING: "#fb9a99",
    Phase.SEMI_CRITICAL: "#a1d99b",
    Phase.UNRESOLVED: "#d9d9d9",
}
_LINE = "#202020"
_BELOW = 0.3  # of the height, for the part of the lines at negative C_b
_VISIBLE = 0.01  # share of the grid from which a region gets a name: lines and points are seen as such


@picture_of(PhaseDiagram)
@entry()
def phase_diagram(diagram: PhaseDiagram, axes: "Axes | None" = None, *, verdict: Criticality | None = None) -> "Axes":
    r"""What deep networks do over the plane $(C_W, C_b)$.

    Solid: $\chi_\perp = 1$; dashed: $\chi_\parallel = 1$, PDLT (5.71)-(5.72). Where they meet at
    $C_b \ge 0$ a network can be critical. Below $C_b = 0$ there is no network, but the lines go on.

    **Arguments:**

    - `diagram`: what `phase_diagram` of the criticality room returns.
    - `verdict`: what `criticality` says of the activation; its critical points are marked with dots.

    Examples:
        >>> diagram = fw.phase_diagram("relu", C_b=[0.0, 0.5], C_W=[1.0, 2.0, 3.0])
        >>> fw.figures.phase_diagram(diagram).get_title()
        'Phases of relu'
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    axes = one_axes(axes)
    phases = [phase for phase in Phase if (diagram.phase == phase).any()]
    number = np.select([diagram.phase == phase for phase in phases], range(len(phases)))
    colours = ListedColormap([_COLOURS[phase] for phase in phases])
    axes.pcolormesh(
        diagram.C_W, diagram.C_b, number, cmap=colours, vmin=-0.5, vmax=len(phases) - 0.5, shading="nearest"
    )
    lines = (diagram.perp_line, "-", r"$\chi_\perp = 1$"), (diagram.parallel_line, "--", r"$\chi_\parallel = 1$")
    for line, style, name in lines:
        axes.plot(line.C_W, line.C_b, color=_LINE, linestyle=style, linewidth=1.4, label=name)

    if verdict is not None:
        points = verdict.critical_points
        axes.plot(
            [p.C_W for p in points],
            [p.C_b for p in points],
            "o",
            color=ORANGE,
            markersize=6,
            zorder=3,
            label="critical",
        )

    top = float(diagram.C_b[-1])
    axes.axhspan(-top, 0, facecolor="none", edgecolor=GREY, hatch="///", alpha=0.35, linewidth=0)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set(xlim=(diagram.C_W[0], diagram.C_W[-1]), ylim=(-_BELOW * top, top), xlabel="$C_W$", ylabel="$C_b$")
    axes.set_title(f"Phases of {diagram.activation}")
    regions = [
        Patch(color=_COLOURS[phase], label=str(phase)) for phase in phases if (diagram.phase == phase).mean() > _VISIBLE
    ]
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    axes.legend(handles=[*lines, *regions], loc="upper left", frameon=True, framealpha=0.9)
    axes.grid(visible=False)
    return axes
