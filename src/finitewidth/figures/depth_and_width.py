"""Where a network sits among depths and widths: how much networks drawn alike differ there."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from .._entry import entry
from .style import GREY, ORANGE, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = (0.01, 0.1, 0.5)


@entry()
def depth_and_width(
    by_layer: Float[np.ndarray, " L"], width: float, depth: int, axes: "Axes | None" = None, *, title: str = ""
) -> "Axes":
    r"""A map of the relative variance $v_\ell/n$ over depths and widths, PDLT (5.129), with lines where it is a hundredth, a tenth and a
    half, and a point for one network.

    **Arguments:**

    - `by_layer`: $v_\ell$, such as $V/K^2$, for every depth that the map shows.
    - `width`, `depth`: of the network marked.

    Examples:
        >>> fw.figures.depth_and_width(5.0 * np.arange(8), width=64, depth=4).get_xlabel()
        'width $n$'
    """
    axes = one_axes(axes)
    depths = np.arange(2, len(by_layer) + 1)
    widths = np.geomspace(width / 16, width * 16, 65)
    values = np.maximum(by_layer[1:, None], 1e-12) / widths
    mesh = axes.pcolormesh(
        widths, depths, np.log10(values), cmap="cividis_r", vmin=-3, vmax=0, shading="gouraud", rasterized=True
    )
    lines = axes.contour(
        widths, depths, np.log10(values), levels=np.log10(LEVELS), colors=GREY, linewidths=1.0, linestyles="solid"
    )
    axes.clabel(lines, fmt={float(np.log10(level)): f"{level:g}" for level in LEVELS}, fontsize=8)
    axes.plot([width], [depth], marker="o", color=ORANGE, markersize=9, markeredgecolor="white", linestyle="none")
    axes.set(xscale="log", yscale="log", xlabel="width $n$", ylabel="depth $L$", title=title)
    bar = axes.figure.colorbar(mesh, ax=axes, ticks=[-3, -2, -1, 0])
    bar.ax.set_yticklabels(["0.001", "0.01", "0.1", "1"])
    axes.grid(False)
    return axes
