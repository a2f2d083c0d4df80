"""Norms and correlations of tokens by depth."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from ..results import CovarianceLaw
from .style import BLUE, ORANGE, two_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVELS = (0.05, 0.5, 0.95)
_MOST_MARKERS = 16


def tokens_by_depth(
    limit: CovarianceLaw, networks: CovarianceLaw | None = None, axes: "tuple[Axes, Axes] | None" = None
) -> "tuple[Axes, Axes]":
    """Medians and central ranges of 90 % of the tokens' mean square norm (left) and mean correlation (right).

    **Arguments:**

    - `limit`: a law, drawn as lines and a band; `networks`: another, drawn as points with bars.
    """
    norm, correlation = two_axes(axes)
    for panel, measure in ((norm, _mean_square), (correlation, _mean_correlation)):
        low, middle, high = np.quantile(measure(limit), _LEVELS, axis=0)
        panel.plot(limit.times, middle, color=ORANGE, label="limit")
        panel.fill_between(limit.times, low, high, color=ORANGE, alpha=0.15, linewidth=0)
        if networks is not None:
            shown = slice(None, None, -(-len(networks.times) // _MOST_MARKERS))
            low, middle, high = np.quantile(measure(networks), _LEVELS, axis=0)[:, shown]
            bars = np.stack([middle - low, high - middle])
            label = "networks" if networks.width is None else f"networks, n = {networks.width}"
            panel.errorbar(
                networks.times[shown],
                middle,
                bars,
                linestyle="none",
                marker="o",
                markersize=3.5,
                color=BLUE,
                label=label,
            )
        panel.set_xlabel(r"depth over width $\ell/n$")
    norm.set(ylabel="mean square norm", title="Norm of tokens")
    correlation.set(ylabel=r"mean $\rho$", title="Correlation of tokens")
    norm.legend(loc="best")
    return norm, correlation


def _mean_square(law: CovarianceLaw) -> Float[np.ndarray, "paths times"]:
    return np.trace(law.V, axis1=2, axis2=3) / law.V.shape[-1]


def _mean_correlation(law: CovarianceLaw) -> Float[np.ndarray, "paths times"]:
    tokens = law.V.shape[-1]
    if tokens == 1:
        return np.ones(law.V.shape[:2])
    return (law.correlation().sum(axis=(2, 3)) - tokens) / (tokens * (tokens - 1))
