"""Densities of the entries of a random covariance matrix."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from ..networks.shaped import CovarianceLaw
from .style import BLUE, ORANGE, two_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS, _BINS = 400, 60
_SHOWN = 0.995  # share of the heavy-tailed laws that is drawn


def law_densities(
    first: CovarianceLaw,
    second: CovarianceLaw | None = None,
    axes: "tuple[Axes, Axes] | None" = None,
    entry: tuple[int, int] = (0, 1),
) -> "tuple[Axes, Axes]":
    r"""One entry of $V$ (left) and of the correlation $\rho$ (right) at the last depth: kernel density estimates of both laws
    and a histogram of the second (Shaped Transformer Fig. 1 and 7).

    **Arguments:**

    - `first`, `second`: laws such as the limit and its networks.
    - `entry`: which two tokens.
    """
    covariance, correlation = two_axes(axes)
    a, b = entry
    laws = [law for law in (first, second) if law is not None]
    values = [law.final[:, a, b] for law in laws]
    low, high = np.quantile(np.concatenate(values), [(1 - _SHOWN) / 2, (1 + _SHOWN) / 2])
    _draw(covariance, laws, values, (low, high))
    _draw(correlation, laws, [law.correlation()[:, -1, a, b] for law in laws], (-1.0, 1.0))
    covariance.set(xlabel=rf"$V^{{{a + 1}{b + 1}}}$", ylabel="density", title="Covariance")
    correlation.set(xlabel=rf"$\rho^{{{a + 1}{b + 1}}}$", ylabel="density", title="Correlation")
    correlation.legend(loc="best")
    return covariance, correlation


def density(values: Float[np.ndarray, " paths"], at: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
    """A Gaussian kernel density estimate."""
    from scipy.stats import gaussian_kde  # half a second to load

    return gaussian_kde(values)(at)


def _draw(axes: "Axes", laws: list[CovarianceLaw], values: list[np.ndarray], reach: tuple[float, float]) -> None:
    at = np.linspace(*reach, _POINTS)
    for law, of, color in zip(laws, values, (ORANGE, BLUE), strict=False):
        label = "limit" if law.width is None else f"networks, n = {law.width}"
        if law.width is not None:
            axes.hist(of, bins=_BINS, range=reach, density=True, color=color, alpha=0.25)
        axes.plot(at, density(of, at), color=color, linestyle="--" if law.width is None else "-", label=label)
