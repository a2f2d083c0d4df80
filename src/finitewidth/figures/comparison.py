"""Deviations of measurement from theory."""

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from .._entry import entry
from .._errors import ArgumentError
from ..results import Deviations
from .style import BLUE, GREEN, GREY, ORANGE, one_axes, two_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DOT: dict[str, Any] = {"marker": ".", "markersize": 4}
_RING: dict[str, Any] = {"marker": "o", "markersize": 5, "markerfacecolor": "none", "markeredgewidth": 0.6}
_LOOKS = {  # G1 deviates as G does, and H1 as H: rings around their points
    "G": (BLUE, _DOT),
    "G1": (ORANGE, _RING),
    "V": (GREEN, _DOT),
    "H": ("#CC79A7", _DOT),
    "H1": ("#E69F00", _RING),
    "A": ("#56B4E9", _DOT),
    "B": ("#B2A100", _DOT),
    "D": ("#7A4988", _DOT),
    "F": ("#000000", _DOT),
}
_SHIFTS = ("G1", "H1")
_FAR = 4.0
_SPREAD = 0.5  # of the distance between layers, over which the entries of a layer are spread


@runtime_checkable
class Moments(Protocol):
    """What is drawn of a comparison of predictions: rows with a `quantity`, a `time` and a `deviation`."""

    @property
    def rows(self) -> tuple[Any, ...]:
        """One for each entry."""
        ...


@entry()
def comparison(table: Deviations, axes: "tuple[Axes, Axes] | None" = None) -> "tuple[Axes, Axes]":
    """Left: measured values against theory, with standard errors. Right: deviations by layer, with a band of ±4.

    `G1` and `H1` are not on the left: they are shifts from infinite width, times n, and would be all error bar.

    **Arguments:**

    - `table`: what `compare` returns for a flow and networks.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]])
        >>> measured = fw.simulate(net, [[1.0, 0.5], [0.3, -1.0]], networks=1000)
        >>> values, deviations = fw.figures.comparison(fw.compare(theory, measured))
        >>> deviations.get_title()
        'Deviations'
    """
    _check(table)
    values, deviations = two_axes(axes)
    for name, (color, _) in _LOOKS.items():
        of = table.quantity == name
        if name in _SHIFTS or not of.any():
            continue
        values.errorbar(
            table.theory[of],
            table.measured[of],
            table.standard_error[of],
            linestyle="none",
            marker="o",
            markersize=3,
            color=color,
            label=name,
        )
    shown = ~np.isin(table.quantity, _SHIFTS)
    _diagonal(values, np.concatenate([table.theory[shown], table.measured[shown]]))
    values.legend(loc="upper left")
    return values, deviations_by_layer(table, deviations)


@entry()
def deviations_by_layer(table: Deviations, axes: "Axes | None" = None) -> "Axes":
    """Deviations of measurement from theory by layer, in standard errors, with a band of ±4.

    **Arguments:**

    - `table`: what `compare` returns for a flow and networks.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]])
        >>> measured = fw.simulate(net, [[1.0, 0.5], [0.3, -1.0]], networks=1000)
        >>> fw.figures.deviations_by_layer(fw.compare(theory, measured)).get_title()
        'Deviations'
    """
    _check(table)
    axes = one_axes(axes)
    for name, (color, style) in _LOOKS.items():
        of = table.quantity == name
        if not of.any():
            continue
        x = table.layer[of] + _offset(table.layer[of])
        finite = np.isfinite(table.deviation[of])
        axes.plot(x[finite], table.deviation[of][finite], linestyle="none", color=color, label=name, **style)
    _band(axes)
    axes.set(xlabel=r"layer $\ell$", ylabel="(measured − theory) / standard error", title="Deviations")
    axes.legend(loc="upper right")
    return axes


@entry()
def deviations_by_time(table: Moments, axes: "Axes | None" = None) -> "Axes":
    r"""Deviations of trained networks from theory by time, in standard errors, with a band of ±4. The end of training, at an infinite
    time, stands on the right.

    **Arguments:**

    - `table`: what `compare` returns of predictions.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> data = [[1.0, 0.5]], [[1.0]], [[0.3, -1.0]]
        >>> trained = fw.train(net, *data, networks=2, steps=2)
        >>> rate = trained.training.rate
        >>> theory = fw.predict(net, *data, algorithm="gradient_descent", rate=rate, steps=2)
        >>> fw.figures.deviations_by_time(fw.compare(theory, trained)).get_xlabel()
        'time, rate $\\times$ steps'
    """
    axes = one_axes(axes)
    time = np.array([row.time for row in table.rows])
    end = 1.1 * np.max(time, initial=1.0, where=np.isfinite(time))
    at = np.where(np.isfinite(time), time, end)
    for quantity in dict.fromkeys(row.quantity for row in table.rows):
        of = [i for i, row in enumerate(table.rows) if row.quantity == quantity and np.isfinite(row.deviation)]
        deviation = [table.rows[i].deviation for i in of]
        axes.plot(at[of], deviation, linestyle="none", marker=".", label=quantity)
    _band(axes)
    axes.set(xlabel=r"time, rate $\times$ steps", ylabel="(measured − theory) / standard error", title="Deviations")
    axes.legend(loc="upper right")
    return axes


def _check(table: Any) -> None:
    if not isinstance(table, Deviations):
        raise ArgumentError("table", type(table).__name__, "what `compare(theory, measured)` returns for flows")


def _band(axes: "Axes") -> None:
    axes.axhspan(-_FAR, _FAR, color=GREY, alpha=0.15, linewidth=0)
    axes.axhline(0, color=GREY, linewidth=0.8)


def _offset(layer: np.ndarray) -> np.ndarray:
    """Entries of one layer side by side around it."""
    rank = np.arange(len(layer)) - np.searchsorted(layer, layer)
    count = np.bincount(layer)[layer]
    return _SPREAD * ((rank + 0.5) / count - 0.5)


def _diagonal(axes: "Axes", values: np.ndarray) -> None:
    """The line of agreement. Quantities differ in magnitude and sign: axes are linear near zero, then logarithmic."""
    largest = float(np.abs(values).max())
    reach = [min(0.0, float(values.min())), largest]
    axes.plot(reach, reach, color=GREY, linewidth=0.8, zorder=0)
    for scale in (axes.set_xscale, axes.set_yscale):
        scale("symlog", linthresh=largest / 100)
    axes.set(xlabel="theory", ylabel="measured", title="Measured against theory")
