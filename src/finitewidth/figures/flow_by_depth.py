"""Kernel and fluctuations from layer to layer, theory over measurement."""

from typing import TYPE_CHECKING

import numpy as np

from .._arrays import Array
from .._errors import DomainError
from .._validation import as_count
from ..results import Flow, Measurement
from .style import BLUE, GREY, two_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_MARKERS = 40
_DECADES = 1.5  # of variation from which an axis is logarithmic


def flow_by_depth(
    theory: Flow[Array],
    measured: Flow[Measurement] | None = None,
    axes: "tuple[Axes, Axes] | None" = None,
    *,
    sample: int = 0,
    nu: float | None = None,
    label: str = "theory",
    color: str = BLUE,
) -> "tuple[Axes, Axes]":
    r"""Mean metric and relative fluctuation of one input by layer.

    Left: $G = K + G^{\{1\}}/n$, PDLT (4.104), with a band of one standard deviation between networks, $\sqrt{V/n}$.
    Right: $V/(nK^2)$, with a band for the orders left out, which are smaller by the same factor, and dashed its law
    $\nu\,\ell/n$ deep in a critical network, PDLT (5.120), (5.131). Points are measured, with their standard errors.

    **Arguments:**

    - `sample`: which of the inputs.
    - `nu`: the slope of the dashed line (`criticality(...).exponents.nu`); none is drawn without it.
    - `label`, `color`: of theory's line, to lay several networks over one another.
    """
    kernel, fluctuation = two_axes(axes)
    s, samples = as_count(sample, "sample", at_least=0), theory.K.shape[-1]
    if s >= samples:
        raise DomainError("sample", s, f"one of the {samples} inputs, from 0")
    layers = np.arange(1, len(theory.K) + 1)
    mean, spread = theory.G[:, s, s], np.sqrt(theory.v[:, s, s, s, s])
    relative = theory.relative_fluctuation[:, s]

    kernel.plot(layers, mean, color=color, label=label)
    kernel.fill_between(layers, mean - spread, mean + spread, color=color, alpha=0.15, linewidth=0)
    fluctuation.plot(layers, relative, color=color, label=label)
    band = relative * (1 - relative), relative * (1 + relative)
    fluctuation.fill_between(layers, *band, color=color, alpha=0.15, linewidth=0)
    if nu is not None:
        passed = np.cumsum(np.append(0.0, 1 / theory.previous_widths[1:]))
        fluctuation.plot(layers, nu * passed, color=GREY, linestyle="--", linewidth=1.0, label=rf"${nu:.3g}\,\ell/n$")
    if measured is not None:
        _points(kernel, layers, measured.G[:, s, s], color)
        _points(fluctuation, layers, measured.relative_fluctuation[:, s], color)

    if mean.min() > 0 and np.log10(mean.max() / mean.min()) > _DECADES:
        kernel.set_yscale("log")
    kernel.set_title("Kernel")
    kernel.set_ylabel(r"$G = K + G^{\{1\}}/n$")
    fluctuation.set_title("Fluctuation between networks")
    fluctuation.set_ylabel(r"$V/(n K^2)$")
    fluctuation.set_ylim(bottom=0)
    for panel in (kernel, fluctuation):
        panel.set_xlabel(r"layer $\ell$")
        panel.legend(loc="best")
    return kernel, fluctuation


def _points(axes: "Axes", layers: np.ndarray, measured: Measurement, color: str) -> None:
    shown = slice(None, None, -(-len(layers) // _MOST_MARKERS))
    axes.errorbar(
        layers[shown],
        measured.mean[shown],
        yerr=measured.standard_error[shown],
        linestyle="none",
        marker="o",
        markersize=3.5,
        markerfacecolor="none",
        markeredgewidth=0.9,
        elinewidth=0.9,
        color=color,
    )
