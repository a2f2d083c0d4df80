"""What the pictures have in common. Matplotlib is loaded when the first one is drawn, not before."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Told apart by people who do not see all colours (Okabe and Ito).
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
GREY = "#808080"

STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "grid.color": GREY,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 120,
}
"""For `matplotlib.rc_context(STYLE)` around the drawing; the functions themselves change no global setting."""


def one_axes(axes: "Axes | None") -> "Axes":
    """The axes given, or those of a new figure."""
    if axes is not None:
        return axes
    from matplotlib import pyplot

    with pyplot.rc_context(STYLE):
        return pyplot.subplots(figsize=(5.2, 3.9))[1]


def two_axes(axes: "tuple[Axes, Axes] | None") -> "tuple[Axes, Axes]":
    """The two axes given, or two side by side on a new figure."""
    if axes is not None:
        left, right = axes
        return left, right
    from matplotlib import pyplot

    with pyplot.rc_context(STYLE):
        _, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.9))
        return left, right
