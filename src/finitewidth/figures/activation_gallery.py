"""What activations look like, PDLT figure 2.2."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from .._entry import entry
from .._errors import ShapeError
from ..activations import Activation, as_activation
from .style import BLUE, GREY, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PDLT_FIGURE_2_2 = ("perceptron", "sigmoid", "tanh", "sin", "linear", "relu", "softplus", "swish", "gelu")
_COLUMNS = 3
_REACH = 3.5
_POINTS = 701
_GAP = 1e-9  # invisible, and not flushed to zero as the next number below a kink at zero would be


@entry()
def activation_gallery(
    activations: Sequence[str | Activation] = PDLT_FIGURE_2_2, axes: "Sequence[Axes] | None" = None
) -> "Sequence[Axes]":
    """One panel for each activation, with a grid of spacing one in both directions, PDLT (2.9)-(2.18).

    **Arguments:**

    - `activations`: names or activations; by default those of the book's figure.
    - `axes`: as many of them.

    Examples:
        >>> [axes.get_title() for axes in fw.figures.activation_gallery(["tanh", "relu"])]
        ['tanh', 'relu']
    """
    panels = _grid(len(activations)) if axes is None else axes
    if len(panels) != len(activations):
        raise ShapeError("axes", f"{len(panels)} axes", f"{len(activations)}, one for each activation")
    for panel, activation in zip(panels, activations, strict=True):
        sigma = as_activation(activation)
        for z in _pieces(sigma.kinks):
            panel.plot(z, np.asarray(sigma(jnp.asarray(z))), color=BLUE)
        panel.axhline(0, color=GREY, linewidth=0.8, zorder=1)
        panel.axvline(0, color=GREY, linewidth=0.8, zorder=1)
        panel.set(xlim=(-_REACH, _REACH), ylim=(-1.6, 3.6), aspect="equal", title=sigma.name)
        panel.set_xticks(range(-3, 4))
        panel.set_yticks(range(-1, 4))
        panel.set_xlabel("$z$")
        panel.set_ylabel(r"$\sigma(z)$")
    return panels


def _pieces(kinks: tuple[float, ...]) -> list[np.ndarray]:
    """The axis cut just before each kink, so that a jump is not drawn as a slope."""
    edges = [-_REACH, *sorted(kink for kink in kinks if abs(kink) < _REACH), _REACH]
    return [np.linspace(low, high - _GAP, _POINTS) for low, high in itertools.pairwise(edges)]


def _grid(count: int) -> "list[Axes]":
    from matplotlib import pyplot

    columns = min(_COLUMNS, count)
    rows = -(-count // columns)
    with pyplot.rc_context(STYLE):
        _, panels = pyplot.subplots(rows, columns, figsize=(2.9 * columns, 2.5 * rows), squeeze=False)
    for spare in panels.flat[count:]:
        spare.remove()
    return list(panels.flat[:count])
