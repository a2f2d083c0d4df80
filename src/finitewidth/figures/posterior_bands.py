"""Posteriors along a line of inputs: infinite width, the 1/n correction, and real networks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._entry import entry
from .._errors import ArgumentError, DomainError, ShapeError
from .._result import picture_of
from .._validation import as_floats
from ..results import Measurement, Posterior
from .style import BLUE, GREEN, GREY, ORANGE, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = {0: GREY, 1: BLUE, None: ORANGE}
_NAMES = {0: "infinite width", 1: r"to order $1/n$", None: "real networks"}


@entry()
def posterior_bands(
    posteriors: Sequence[Posterior],
    at: Any,
    axes: "Axes | None" = None,
    *,
    output: int = 0,
    train: Any = None,
) -> "Axes":
    """Mean and a band of one standard deviation of one output for each posterior; a measured one as points with bars of the same
    meaning, its standard errors being too small to draw.

    **Arguments:**

    - `posteriors`: what `bayes` and `exact_posterior` return for the same test samples.
    - `at`: where the test samples lie along the line, shape (N_test,).
    - `train`: positions and targets of the training samples, shape (N_train, 2), drawn as dots.

    Examples:
        >>> found = fw.bayes(kernel=[[1.0, 0.5], [0.5, 1.0]], y_train=[2.0], order=0)
        >>> fw.figures.posterior_bands([found], at=[0.3]).get_ylabel()
        'output'
    """
    if not all(isinstance(posterior, Posterior) for posterior in posteriors):
        raise ArgumentError("posteriors", "something else among them", "what `bayes` or `exact_posterior` returns")
    places = np.asarray(as_floats(at, "at"))
    for posterior in posteriors:
        samples, outputs = _values(posterior.mean).shape
        if places.shape != (samples,):
            raise ShapeError("at", f"shape {places.shape}", f"one place for each of the {samples} test samples")
        if not 0 <= output < outputs:
            raise DomainError("output", output, f"one of the outputs, 0 to {outputs - 1}")
    axes = one_axes(axes)
    for posterior in posteriors:
        mean, deviation = (_values(leaf)[:, output] for leaf in (posterior.mean, posterior.standard_deviation))
        color, name = _COLORS[posterior.order], _NAMES[posterior.order]
        if posterior.order is None:
            axes.errorbar(
                places, mean, deviation, fmt="o", color=color, markersize=3.5, capsize=2, linewidth=1, label=name
            )
            continue
        axes.plot(places, mean, color=color, label=name)
        for sign in (-1, 1):
            axes.plot(places, mean + sign * deviation, color=color, linewidth=0.9, linestyle="--")
        axes.fill_between(places, mean - deviation, mean + deviation, color=color, alpha=0.12, linewidth=0)
    if train is not None:
        known = np.asarray(as_floats(train, "train"))
        if known.ndim != 2 or known.shape[1] != 2:
            raise ShapeError("train", f"shape {known.shape}", "shape (N_train, 2): positions and targets")
        axes.plot(known[:, 0], known[:, 1], "o", color=GREEN, markersize=7, zorder=4, label="told")
    axes.set(xlabel="place along the line", ylabel="output")
    axes.legend()
    return axes


@picture_of(Posterior)
@entry()
def posterior(result: Posterior, axes: "Axes | None" = None) -> "Axes":
    """The first output on every test sample, in their order, with one standard deviation.

    **Arguments:**

    - `result`: what `bayes` or `exact_posterior` returns.

    Examples:
        >>> found = fw.bayes(kernel=[[1.0, 0.5], [0.5, 1.0]], y_train=[2.0], order=0)
        >>> fw.figures.posterior(found).get_xlabel()
        'test sample'
    """
    axes = posterior_bands([result], np.arange(len(_values(result.mean))), axes)
    axes.set_xlabel("test sample")
    return axes


def _values(leaf: Any) -> np.ndarray:
    return np.asarray(leaf.mean if isinstance(leaf, Measurement) else leaf)
