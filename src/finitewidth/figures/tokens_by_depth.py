"""Norms and correlations of tokens by depth."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from .._entry import entry
from .._result import picture_of
from ..results import CovarianceLaw
from .style import BLUE, ORANGE, one_axes, two_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVELS = (0.05, 0.5, 0.95)
_MOST_MARKERS = 16


@entry()
def tokens_by_depth(
    limit: CovarianceLaw, networks: CovarianceLaw | None = None, axes: "tuple[Axes, Axes] | None" = None
) -> "tuple[Axes, Axes]":
    """Medians and central ranges of 90 % of the tokens' mean square norm (left) and mean correlation (right).

    **Arguments:**

    - `limit`: a law, drawn as lines and a band; `networks`: another, drawn as points with bars.

    Examples:
        >>> block = fw.ShapedMLP()
        >>> law = fw.covariance_sde(block, fw.shaped.equal_tokens(2, 0.2), 0.25, paths=8, steps=4)
        >>> norm, correlation = fw.figures.tokens_by_depth(law)
        >>> norm.get_title()
        'Norm of tokens'
    """
    norm, correlation = two_axes(axes)
    for panel, measure in ((norm, _mean_square), (correlation, _mean_correlation)):
        _band(panel, limit, measure(limit), "limit")
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


@picture_of(CovarianceLaw)
@entry()
def norms_by_depth(law: CovarianceLaw, axes: "Axes | None" = None) -> "Axes":
    """Median and central range of 90 % of the tokens' mean square norm, as `tokens_by_depth` draws it on the left.

    Examples:
        >>> block = fw.ShapedMLP()
        >>> law = fw.covariance_sde(block, fw.shaped.equal_tokens(2, 0.2), 0.25, paths=8, steps=4)
        >>> fw.figures.norms_by_depth(law).get_title()
        'Norm of tokens'
    """
    axes = one_axes(axes)
    _band(axes, law, _mean_square(law), "limit" if law.width is None else f"networks, n = {law.width}")
    axes.set(xlabel=r"depth over width $\ell/n$", ylabel="mean square norm", title="Norm of tokens")
    axes.legend(loc="best")
    return axes


def _band(axes: "Axes", law: CovarianceLaw, values: Float[np.ndarray, "paths times"], label: str) -> None:
    low, middle, high = np.quantile(values, _LEVELS, axis=0)
    axes.plot(law.times, middle, color=ORANGE, label=label)
    axes.fill_between(law.times, low, high, color=ORANGE, alpha=0.15, linewidth=0)


def _mean_square(law: CovarianceLaw) -> Float[np.ndarray, "paths times"]:
    return np.trace(law.V, axis1=2, axis2=3) / law.V.shape[-1]


def _mean_correlation(law: CovarianceLaw) -> Float[np.ndarray, "paths times"]:
    tokens = law.V.shape[-1]
    if tokens == 1:
        return np.ones(law.V.shape[:2])
    return (law.correlation().sum(axis=(2, 3)) - tokens) / (tokens * (tokens - 1))
