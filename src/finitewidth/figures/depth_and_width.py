"""Where a network sits among depths and widths: how much networks drawn alike differ there."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from .._entry import entry
from .._errors import DomainError, ShapeError
from .._validation import as_count, as_floats, as_number
from .style import ORANGE, one_axes

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
        >>> fw.figures.depth_and_width(5.0 * np.arange(8), width=64.0, depth=4).get_xlabel()
        'width $n$'
    """
    variances, n, L = _checked(by_layer, width, depth)
    from matplotlib.patheffects import withStroke

    axes = one_axes(axes)
    depths = np.arange(2, len(variances) + 1)
    widths = np.geomspace(n / 16, n * 16, 65)
    values = np.maximum(variances[1:, None], 1e-12) / widths
    mesh = axes.pcolormesh(
        widths, depths, np.log10(values), cmap="cividis_r", vmin=-3, vmax=0, shading="gouraud", rasterized=True
    )
    lines = axes.contour(
        widths, depths, np.log10(values), levels=np.log10(LEVELS), colors="white", linewidths=1.0, linestyles="solid"
    )
    written = axes.clabel(lines, fmt={float(np.log10(level)): f"{level:g}" for level in LEVELS}, fontsize=9)
    for each in written:  # on dark and on bright ground
        each.set_path_effects([withStroke(linewidth=2.0, foreground="black")])
    axes.plot([n], [L], marker="o", color=ORANGE, markersize=9, markeredgecolor="white", linestyle="none")
    axes.set(xscale="log", yscale="log", xlabel="width $n$", ylabel="depth $L$", title=title)
    bar = axes.figure.colorbar(mesh, ax=axes, ticks=[-3, -2, -1, 0])
    bar.ax.set_yticklabels(["0.001", "0.01", "0.1", "1"])
    axes.grid(False)
    return axes


def _checked(by_layer: Any, width: Any, depth: Any) -> tuple[Float[np.ndarray, " L"], float, int]:
    variances, n = np.asarray(as_floats(by_layer, "by_layer")), as_number(width, "width", low=0.0)
    if variances.ndim != 1 or len(variances) < 3:
        raise ShapeError("by_layer", f"shape {variances.shape}", "one number a layer, of three or more")
    if not 1e-100 < n < 1e100:
        raise DomainError("width", n, "a number > 0 that can be drawn")
    if variances.max() > 1e100:
        raise DomainError("by_layer", f"{variances.max():g}", "relative variances that can be drawn")
    return variances, n, as_count(depth, "depth")
