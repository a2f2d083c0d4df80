"""How the fluctuations of a tangent kernel grow with depth, and the law that they approach."""

from typing import TYPE_CHECKING

import numpy as np

from .._entry import entry
from .._result import picture_of
from ..critical.one_input.tangent_single_input import Ratios, TangentSingleInputFlow
from .style import BLUE, GREEN, GREY, ORANGE, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DRAWN = {
    "V": (r"$V/K^2$", GREY),
    "F": (r"$F/K\Theta$", GREEN),
    "D": (r"$|D|/K\Theta$", "#CC79A7"),
    "B": (r"$B/\Theta^2$", ORANGE),
    "A": (r"$A/\Theta^2$", BLUE),
}


@entry()
def tangent_ratios(
    flow: TangentSingleInputFlow, slopes: Ratios | None = None, axes: "Axes | None" = None, *, title: str = ""
) -> "Axes":
    r"""The dimensionless couplings of one input by layer, to be divided by the width, PDLT (9.23)-(9.25), and dashed the laws
    $\propto\ell$ of a critical network, PDLT (9.26)-(9.27).

    **Arguments:**

    - `flow`: what `tangent_single_input_flow` gives.
    - `slopes`: what `tangent_asymptotics(...).slopes` gives; no law is drawn without them.

    Examples:
        >>> flow = fw.critical.tangent_single_input_flow("relu", 1.0, depth=3, C_b=0.0, C_W=2.0)
        >>> fw.figures.tangent_ratios(flow).get_xscale()
        'log'
    """
    axes = one_axes(axes)
    layers = np.arange(2, len(flow.K) + 1)  # the first layer does not fluctuate
    for name, (label, color) in _DRAWN.items():
        axes.plot(layers, np.abs(getattr(flow.ratios, name)[1:]), color=color, label=label)
        if slopes is not None:
            law = abs(getattr(slopes, name)) * layers
            axes.plot(layers, law, color=color, linestyle="--", linewidth=1.0, alpha=0.8)
    if slopes is not None:
        axes.plot([], [], color=GREY, linestyle="--", linewidth=1.0, label=r"deep: $\propto\ell$")
    axes.set(
        xscale="log", yscale="log", xlabel=r"layer $\ell$", ylabel="relative fluctuation, times width", title=title
    )
    axes.legend(loc="best")
    return axes


@picture_of(TangentSingleInputFlow)
def ratios_of_flow(flow: TangentSingleInputFlow, axes: "Axes | None" = None) -> "Axes":
    """`tangent_ratios` without the laws of great depth."""
    return tangent_ratios(flow, axes=axes)
