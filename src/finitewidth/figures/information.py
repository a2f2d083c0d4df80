"""What neurons tell of one another by depth, and the truncated series beside the exact curve."""

from typing import TYPE_CHECKING

import numpy as np

from .._entry import entry
from .._result import picture_of
from ..entropies import AspectRatio, Information
from .style import BLUE, GREEN, GREY, ORANGE, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@picture_of(Information)
@entry()
def information_by_depth(found: Information, axes: "Axes | None" = None) -> "Axes":
    """The information between two groups of neurons, layer by layer, PDLT (A.67): both orders, and networks with errors.

    Examples:
        >>> net = fw.MLP("linear", (2, 8, 8, 1))
        >>> found = fw.information(net, [[1.0, 0.5]], networks=400)
        >>> fw.figures.information_by_depth(found).get_xlabel()
        'layer $\\\\ell$'
    """
    axes = one_axes(axes)
    layers = np.arange(1, len(found.coupling) + 1)
    axes.plot(layers, found.neurons.leading, color=GREY, linestyle=":", label="leading order")
    if found.neurons.next is not None:
        axes.plot(layers, found.neurons.next, color=BLUE, label="next order")
    exact = found.neurons.exact
    axes.errorbar(layers, exact.mean, 2 * exact.standard_error, color=ORANGE, fmt="o", ms=4, label="networks, ±2 s.e.")
    axes.set(xlabel=r"layer $\ell$", ylabel="information between neurons [nats]")
    axes.legend(loc="best")
    return axes


@picture_of(AspectRatio)
@entry()
def aspect_ratio_curve(found: AspectRatio, axes: "Axes | None" = None) -> "Axes":
    """The information between halves of the last layer by depth over width, PDLT (A.71): the series cut after two terms, its maximum,
    and, where it is known, what the series stands for.

    Examples:
        >>> found = fw.aspect_ratio(fw.MLP("relu", (2, 100, 100, 10)))
        >>> fw.figures.aspect_ratio_curve(found).get_xlabel()
        'depth over width $r$'
    """
    axes = one_axes(axes)
    r, top = found.curve_ratio, 4 * found.maximum
    axes.plot(r, found.leading, color=GREY, linestyle=":", label="leading order")
    axes.plot(r, found.truncated, color=BLUE, label="two terms, PDLT (A.71)")
    if found.consistent is not None and found.exact is not None:
        axes.plot(r, found.consistent, color=GREEN, linestyle="--", label="two terms, consistent")
        axes.plot(r, found.exact, color=ORANGE, label="exact")
        top = max(top, 1.2 * float(found.exact[len(r) // 2]))
    axes.axvline(found.optimum, color=GREY, linewidth=1.0)
    axes.annotate(" $r^*$ of the truncated series", (found.optimum, 0.92 * top), fontsize=8)
    axes.set(xlabel="depth over width $r$", ylabel="information [nats]", xlim=(0, r[-1]), ylim=(0, top))
    axes.legend(loc="lower right")
    return axes
