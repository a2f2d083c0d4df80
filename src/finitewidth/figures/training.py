"""Loss and outputs while networks learn, theory laid over what was measured."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from .._entry import entry
from ..results import Measurement, Prediction
from .style import BLUE, GREEN, GREY, ORANGE, two_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = (BLUE, ORANGE, GREEN, "#CC79A7", "#56B4E9", "#E69F00")
_MOST_POINTS = 24  # of a measured curve


@entry()
def training(
    theory: Prediction, measured: Prediction | None = None, axes: "tuple[Axes, Axes] | None" = None
) -> "tuple[Axes, Axes]":
    """Left: the mean loss of training. Right: the first output on the first test inputs, with a band of one standard deviation
    over networks. Lines are theory, points are networks, with two standard errors.

    **Arguments:**

    - `theory`: what `predict` returns, with a trajectory of some finite moments (`record`).
    - `measured`: what `train` returns; nothing if only theory is to be drawn.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> recorded = fw.predict(net, [[1.0, 0.5]], [[1.0]], [[0.3, -1.0]], record=[0.1, 0.2])
        >>> loss, outputs = fw.figures.training(recorded)
        >>> loss.get_xlabel()[:4]
        'time'
    """
    loss, outputs = two_axes(axes)
    times, finite = _times(theory)
    loss.plot(times, _values(theory.loss)[finite], color=GREY, label="theory")
    mean, deviation = (
        _values(leaf)[finite][:, :, 0] for leaf in (theory.trajectory.mean, theory.trajectory.standard_deviation)
    )
    for sample, color in zip(range(mean.shape[1]), _COLORS, strict=False):
        outputs.plot(times, mean[:, sample], color=color, label=f"test input {sample}")
        low, high = (mean[:, sample] + sign * deviation[:, sample] for sign in (-1, 1))
        outputs.fill_between(times, low, high, color=color, alpha=0.15, linewidth=0)
    if measured is not None:
        _points(loss, measured, measured.trajectory.loss, GREY)
        for sample, color in zip(range(mean.shape[1]), _COLORS, strict=False):
            _points(outputs, measured, measured.trajectory.mean[:, sample, 0], color)
    loss.set(xlabel=r"time, rate $\times$ steps", ylabel="mean loss of training", yscale="log")
    outputs.set(xlabel=r"time, rate $\times$ steps", ylabel="output")
    loss.legend()
    outputs.legend()
    return loss, outputs


def _points(axes: "Axes", measured: Prediction, leaf: Any, color: str) -> None:
    times, finite = _times(measured)
    some = np.unique(np.linspace(0, len(times) - 1, _MOST_POINTS).round().astype(int))
    networks = "" if measured.ensemble is None else f"{measured.ensemble.networks} networks"
    axes.errorbar(
        times[some],
        leaf.mean[finite][some],
        2 * leaf.standard_error[finite][some],
        fmt="o",
        color=color,
        markersize=3.5,
        markerfacecolor="none",
        label=networks if color == GREY else None,
    )


def _times(prediction: Prediction) -> tuple[Float[np.ndarray, " finite"], np.ndarray]:
    times = np.asarray(prediction.times)
    finite = np.isfinite(times)
    return times[finite], finite


def _values(leaf: Any) -> np.ndarray:
    return np.asarray(leaf.mean if isinstance(leaf, Measurement) else leaf)
