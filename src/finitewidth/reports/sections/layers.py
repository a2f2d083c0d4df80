"""Kernel and fluctuation by depth, theory and networks side by side."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...figures import flow_by_depth
from ...results import Flow, Measurement
from ..comparison.flows import Comparison
from ..numbers import digits, with_errors
from ..plain import plain
from ..section import BY_LAYER, Bars, Column, Details, Drawing, Section, Sparkline, Table

_CAPTION = (
    "Lines: theory. Points: networks, with standard errors. Shaded: one standard deviation between networks (left), "
    "the orders in 1/n that are left out (right). Dashed: the law of a deep critical network."
)
_NOTE = (
    "G = K + G1/n. Digits in parentheses are standard errors of the last digits; (?) where a few rare networks decide."
)


def about_layers(theory: Flow, measured: Flow, nu: float | None, comparison: Comparison) -> Section:
    r"""`nu` is the slope of the fluctuation deep in a network that is critical; the `comparison` knows whose errors can be trusted."""
    columns = _columns(theory, measured)
    drawing = Drawing("flow", partial(flow_by_depth, theory, measured, nu=nu), _CAPTION)
    parts = drawing, Details("All layers, first input", (_table(columns, comparison),)), *_curves(columns)
    return Section("layers", "Kernel and fluctuation by depth", plain(columns), parts)


def _columns(theory: Flow, measured: Flow) -> dict[str, Any]:
    r"""By layer: $K$, $G$, $G^{\{1\}}$, $V$ and $V/(nK^2)$ of each input, correlation with the first."""
    kernel = _own(theory.K)
    return {
        "layer": np.arange(1, len(kernel) + 1),
        "K": kernel,
        "G": _own(theory.G),
        "G1": _own(theory.G1),
        "V": _own_vertex(theory.V),
        "relative_fluctuation": theory.relative_fluctuation,
        "correlation": theory.K[:, 0] / np.sqrt(kernel[:, :1] * kernel),
        "measured": {
            "G": _both(_own, measured.G),
            "G1": _both(_own, measured.G1),
            "V": _both(_own_vertex, measured.V),
            "relative_fluctuation": _both(np.asarray, measured.relative_fluctuation),
        },
    }


def _own(array: Any) -> np.ndarray:
    """Of each input with itself."""
    return np.diagonal(array, axis1=1, axis2=2)


def _own_vertex(array: Any) -> np.ndarray:
    a = np.arange(array.shape[1])
    return np.asarray(array)[:, a, a, a, a]


def _both(of: Callable[[Any], np.ndarray], measurement: Measurement) -> dict[str, np.ndarray]:
    return {"mean": of(measurement.mean), "standard_error": of(measurement.standard_error)}


def _table(columns: dict[str, Any], comparison: Comparison) -> Table:
    """The first input."""

    def theory(name: str) -> np.ndarray:
        return np.asarray(columns[name])[:, 0]

    def measured(name: str) -> tuple[str, ...]:
        found = columns["measured"][name]
        told = comparison.trustworthy[comparison.component == ("G(0,0)" if name == "G" else "V(00)(00)")]
        return with_errors(found["mean"][:, 0], found["standard_error"][:, 0], told.tolist())

    fluctuation = theory("relative_fluctuation")
    return Table(
        (
            Column("layer", tuple(map(str, columns["layer"]))),
            Column("K", digits(theory("K"), 6), wide=True),
            Column("kernel G", digits(theory("G"), 5), digits(theory("G"), 6)),
            Column("measured", measured("G")),
            Column("V", digits(theory("V"), 6), wide=True),
            Column("measured", measured("V"), wide=True),
            Column("V/(nK²)", digits(fluctuation, 4)),
            Column("measured", measured("relative_fluctuation")),
            Bars("fluctuation", tuple((fluctuation / (fluctuation.max() or 1.0)).tolist())),
        ),
        note=_NOTE,
        lines=BY_LAYER,
    )


def _curves(columns: dict[str, Any]) -> tuple[Sparkline, ...]:
    """How the kernel and the correlation of the first two inputs run through the network."""
    kernel = Sparkline("kernel", tuple(columns["K"][:, 0].tolist()))
    correlation = np.asarray(columns["correlation"])
    if correlation.shape[1] == 1:
        return (kernel,)
    return kernel, Sparkline("correlation of inputs 0,1", tuple(correlation[:, 1].tolist()))
