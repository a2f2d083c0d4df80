"""Kernel and fluctuations from layer to layer, theory over measurement."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError
from .._result import picture_of
from .._validation import as_count
from ..results import Flow, Measurement
from .style import BLUE, GREY, one_axes, two_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_MARKERS = 40
_DECADES = 1.5  # of variation from which an axis is logarithmic


@entry()
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

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]])
        >>> kernel, fluctuation = fw.figures.flow_by_depth(theory)
        >>> kernel.get_title()
        'Kernel'
    """
    kernel, fluctuation = two_axes(axes)
    s = _as_sample(sample, theory)
    _theory_of_kernel(kernel, theory, s, label, color)
    layers = np.arange(1, len(theory.K) + 1)
    relative = theory.relative_fluctuation[:, s]
    fluctuation.plot(layers, relative, color=color, label=label)
    band = relative * (1 - relative), relative * (1 + relative)
    fluctuation.fill_between(layers, *band, color=color, alpha=0.15, linewidth=0)
    if nu is not None:
        passed = np.cumsum(np.append(0.0, 1 / theory.previous_widths[1:]))
        fluctuation.plot(layers, nu * passed, color=GREY, linestyle="--", linewidth=1.0, label=rf"${nu:.3g}\,\ell/n$")
    if measured is not None:
        _points(kernel, layers, measured.G[:, s, s], color)
        _points(fluctuation, layers, measured.relative_fluctuation[:, s], color)

    _label_kernel(kernel)
    fluctuation.set_title("Fluctuation between networks")
    fluctuation.set_ylabel(r"$V/(n K^2)$")
    fluctuation.set_ylim(bottom=0)
    fluctuation.set_xlabel(r"layer $\ell$")
    fluctuation.legend(loc="best")
    return kernel, fluctuation


@picture_of(Flow)
@entry()
def kernel_by_depth(flow: Flow[Any], axes: "Axes | None" = None, *, sample: int = 0) -> "Axes":
    """Mean metric of one input by layer, as `flow_by_depth` draws it on the left: theory as a line with a band of one standard
    deviation between networks, measurements as points with their standard errors. Without the vertex, the kernel alone.

    **Arguments:**

    - `flow`: what `flow` or `simulate` gives.
    - `sample`: which of the inputs.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]])
        >>> fw.figures.kernel_by_depth(theory, sample=1).get_title()
        'Kernel'
    """
    axes = one_axes(axes)
    s = _as_sample(sample, flow)
    layers = np.arange(1, len(flow.K) + 1)
    if flow.metric is None:
        axes.plot(layers, flow.K[:, s, s], color=BLUE, label="infinite width")
    elif flow.ensemble is None:
        _theory_of_kernel(axes, flow, s, "theory", BLUE)
    else:
        axes.plot(layers, flow.K[:, s, s], color=GREY, label="infinite width")
        _points(axes, layers, flow.G[:, s, s], BLUE)
    _label_kernel(axes)
    return axes


def _as_sample(sample: int, flow: Flow[Any]) -> int:
    s, samples = as_count(sample, "sample", at_least=0), flow.K.shape[-1]
    if s >= samples:
        raise DomainError("sample", s, f"one of the {samples} inputs, from 0")
    return s


def _theory_of_kernel(axes: "Axes", theory: Flow[Array], s: int, label: str, color: str) -> None:
    layers = np.arange(1, len(theory.K) + 1)
    mean, spread = theory.G[:, s, s], np.sqrt(theory.v[:, s, s, s, s])
    axes.plot(layers, mean, color=color, label=label)
    axes.fill_between(layers, np.maximum(mean - spread, 0.0), mean + spread, color=color, alpha=0.15, linewidth=0)
    if mean.min() > 0 and np.log10(mean.max() / mean.min()) > _DECADES:
        axes.set_yscale("log")


def _label_kernel(axes: "Axes") -> None:
    axes.set(title="Kernel", xlabel=r"layer $\ell$", ylabel=r"$G = K + G^{\{1\}}/n$")
    axes.legend(loc="best")


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
