"""Bias and variance of trained networks, by depth; predictions along a line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._entry import entry
from .._errors import ShapeError
from .._result import picture_of
from .._validation import as_count
from ..learning import GeneralisationError, Line
from .style import BLUE, GREY, ORANGE, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@entry()
def generalisation_by_depth(
    depths: Sequence[int], errors: Sequence[GeneralisationError], axes: "Axes | None" = None
) -> "Axes":
    """Bias, variance and their sum, the mean test loss, against depth.

    **Arguments:**

    - `depths`: of the networks.
    - `errors`: what `learning.generalisation_error` says of each.

    Examples:
        >>> kernel = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]]
        >>> error = fw.learning.generalisation_error(fw.predict(kernel=kernel, y_train=[1.0, 0.0]), [0.5])
        >>> fw.figures.generalisation_by_depth([2, 4], [error, error]).get_xlabel()
        'depth'
    """
    known = [as_count(depth, "depths") for depth in depths]
    if not all(isinstance(error, GeneralisationError) for error in errors) or len(errors) != len(known):
        raise ShapeError("errors", f"{len(errors)} of them", f"{len(known)} `GeneralisationError`s, one for each depth")
    axes = one_axes(axes)
    looks = (("total", GREY, "-"), ("bias", BLUE, "--"), ("variance", ORANGE, ":"))
    for name, color, style in looks:
        axes.plot(known, [float(getattr(error, name)) for error in errors], style, color=color, label=name)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(xlabel="depth", ylabel="mean test loss")
    axes.legend()
    return axes


@picture_of(Line)
@entry()
def along_line(line: Line, axes: "Axes | None" = None) -> "Axes":
    """The first output along the line through two training inputs, with a band of one standard deviation over initialisations, and
    the straight line.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> line = fw.learning.predict_along_line(net, [1.0, 0.5], [0.3, -1.0], 1.0, 0.0, 0.5)
        >>> fw.figures.along_line(line).get_ylabel()
        'output'
    """
    axes = one_axes(axes)
    mean, deviation = np.asarray(line.mean)[:, 0], np.asarray(line.standard_deviation)
    axes.plot(line.s, mean, color=BLUE, label="mean")
    axes.fill_between(
        line.s, mean - deviation, mean + deviation, color=BLUE, alpha=0.2, linewidth=0, label="one deviation"
    )
    axes.plot(line.s, np.asarray(line.straight)[:, 0], color=GREY, linestyle="--", linewidth=1.0, label="straight")
    axes.set(xlabel="s", ylabel="output")
    axes.legend()
    return axes
