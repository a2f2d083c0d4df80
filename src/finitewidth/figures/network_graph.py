"""The graph of a network, PDLT figure 2.1."""

import itertools
from typing import TYPE_CHECKING

import numpy as np

from .._entry import entry
from ..networks import LayeredNetwork, ResidualMLP
from ..networks.layered import as_layered
from .style import BLUE, GREY, ORANGE, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 8  # neurons of a layer, and layers, that are drawn; dots stand for the rest


@entry()
def network_graph(net: LayeredNetwork, axes: "Axes | None" = None) -> "Axes":
    """Neurons as circles, one column for each layer from the inputs to the outputs, weights as lines between them, PDLT (2.5); skip
    connections as arcs above. Of wide layers and deep networks the first and last are drawn, and their widths are written below.

    Examples:
        >>> len(fw.figures.network_graph(fw.MLP("relu", (2, 8, 8, 1))).collections)
        4
    """
    axes, widths = one_axes(axes), as_layered(net).widths
    shown = _some(len(widths))
    places = [_heights(widths[layer]) for layer in shown]
    for column, (before, after) in enumerate(itertools.pairwise(places)):
        gap = shown[column + 1] - shown[column] > 1
        for low in before:
            for high in after:
                style = ":" if gap else "-"
                axes.plot([column, column + 1], [low, high], color=GREY, linewidth=0.4, linestyle=style, zorder=1)
    for column, (layer, heights) in enumerate(zip(shown, places, strict=True)):
        color = ORANGE if layer in (0, len(widths) - 1) else BLUE
        axes.scatter(np.full(len(heights), column), heights, s=90, color=color, zorder=2, edgecolors="white")
        axes.text(column, -0.62, str(widths[layer]), ha="center", va="top", fontsize=9)
        if isinstance(net, ResidualMLP) and layer > 0 and net.has_skip[layer - 1] and column > 0:
            t = np.linspace(0, np.pi, 30)
            axes.plot(column - 0.5 - 0.5 * np.cos(t), 0.55 + 0.12 * np.sin(t), color=BLUE, linewidth=1.2)
    axes.set(ylim=(-0.8, 0.8), title=f"{net.activation.name}, depth {net.depth}")
    axes.set_axis_off()
    return axes


def _some(count: int) -> list[int]:
    """The first and the last of many."""
    half = _MOST // 2
    return list(range(count)) if count <= _MOST else [*range(half), *range(count - half, count)]


def _heights(width: int) -> np.ndarray:
    count = min(width, _MOST)
    return np.linspace(0.5, -0.5, count) if count > 1 else np.zeros(1)
