"""How the differentials of a tangent kernel grow with depth, and the law that they approach."""

from typing import TYPE_CHECKING

import numpy as np

from .._entry import entry
from .._result import picture_of
from ..critical.one_input.differential_single_input import DifferentialRatios, DifferentialSingleInputFlow
from .style import BLUE, GREEN, GREY, ORANGE, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_VANISHING = 1e-12  # of couplings that are of order one: rounding
_DRAWN = {
    "P": (r"|P|/\Theta^2", BLUE),
    "Q": (r"|Q|/\Theta^2", ORANGE),
    "R": (r"|R|K/\Theta^3", GREEN),
    "S": (r"|S|K/\Theta^3", "#CC79A7"),
    "T": (r"|T|K/\Theta^3", "#56B4E9"),
    "U": (r"|U|K/\Theta^3", GREY),
}


@entry()
def differential_ratios(
    flow: DifferentialSingleInputFlow,
    slopes: DifferentialRatios | None = None,
    axes: "Axes | None" = None,
    *,
    title: str = "",
) -> "Axes":
    r"""The dimensionless couplings of one input by layer, to be divided by the width, PDLT (11.62), (∞.21), and dashed the laws
    $\propto\ell$ of a critical network, PDLT (11.65), (∞.22). Couplings that vanish are left out.

    **Arguments:**

    - `flow`: what `differential_single_input_flow` gives.
    - `slopes`: what `differential_asymptotics(...).slopes` gives; no law is drawn without them.

    Examples:
        >>> flow = fw.critical.differential_single_input_flow("relu", 1.0, depth=3, C_b=0.0, C_W=2.0, through="dntk")
        >>> fw.figures.differential_ratios(flow).get_xscale()
        'log'
    """
    axes = one_axes(axes)
    layers = np.arange(2, len(flow.K) + 1)  # the first layer has no differentials
    for name, (label, color) in _DRAWN.items():
        ratio = getattr(flow.ratios, name)
        size = np.zeros(0) if ratio is None else np.abs(np.asarray(ratio)[1:])
        if not (size > _VANISHING).any():
            continue
        axes.plot(layers, np.where(size > _VANISHING, size, np.nan), color=color, label=f"${label}$")
        slope = None if slopes is None else getattr(slopes, name)
        if slope:
            axes.plot(layers, abs(slope) * layers, color=color, linestyle="--", linewidth=1.0, alpha=0.8)
    if slopes is not None:
        axes.plot([], [], color=GREY, linestyle="--", linewidth=1.0, label=r"deep: $\propto\ell$")
    axes.set(xscale="log", yscale="log", xlabel=r"layer $\ell$", ylabel="relative size, times width", title=title)
    axes.legend(loc="best")
    return axes


@picture_of(DifferentialSingleInputFlow)
def ratios_of_differentials(flow: DifferentialSingleInputFlow, axes: "Axes | None" = None) -> "Axes":
    """`differential_ratios` without the laws of great depth."""
    return differential_ratios(flow, axes=axes)
