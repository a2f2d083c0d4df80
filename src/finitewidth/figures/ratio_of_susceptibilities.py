"""The curve whose crossings of one are the critical points, PDLT figures 5.1 to 5.3."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .._arrays import Array
from .._entry import entry
from .._validation import as_number
from ..activations import Activation, as_activation
from ..critical import Criticality, susceptibilities
from .style import BLUE, GREY, ORANGE, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 400


@entry()
def ratio_of_susceptibilities(
    activation: str | Activation | Callable[[Array], Array],
    axes: "Axes | None" = None,
    *,
    K_max: float = 3.0,
    verdict: Criticality | None = None,
) -> "Axes":
    r"""$\mathcal R(K) = \chi_\perp/\chi_\parallel$, PDLT (5.73): independent of $C_W$, and one at criticality.

    **Arguments:**

    - `K_max`: the largest kernel.
    - `verdict`: what `criticality` says of the activation; its critical points are marked with dots.

    Examples:
        >>> fw.figures.ratio_of_susceptibilities("relu", K_max=2.0).get_title()
        'relu'
    """
    axes = one_axes(axes)
    sigma = as_activation(activation)
    largest = as_number(K_max, "K_max", low=np.finfo(float).tiny)
    K = largest * np.linspace(0.0, 1.0, _POINTS + 1)[1:] ** 2  # dense near zero, where curves are steep
    axes.plot(K, np.asarray(susceptibilities(sigma, K).ratio), color=BLUE)
    axes.axhline(1, color=GREY, linewidth=0.8, linestyle="--")
    crossings = [] if verdict is None else [point.K_star for point in verdict.critical_points]
    dots = [K_star for K_star in crossings if K_star is not None and K_star <= largest]
    if dots:
        axes.plot(dots, np.ones(len(dots)), "o", color=ORANGE, markersize=6, clip_on=False, zorder=3)
    axes.set(xlim=(0, largest), xlabel=r"$K^\star$", ylabel=r"$\chi_\perp/\chi_\parallel$", title=sigma.name)
    return axes
