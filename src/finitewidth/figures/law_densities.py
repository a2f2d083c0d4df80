"""Densities of the entries of a random covariance matrix."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from .._entry import entry
from .._errors import ArgumentError, DomainError
from .._validation import as_count
from ..results import CovarianceLaw
from .style import BLUE, ORANGE, one_axes, two_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS, _BINS = 400, 60
_SHOWN = 0.995  # share of the heavy-tailed laws that is drawn


@entry()
def law_densities(
    first: CovarianceLaw,
    second: CovarianceLaw | None = None,
    axes: "tuple[Axes, Axes] | None" = None,
    entry: tuple[int, int] | None = None,
) -> "tuple[Axes, Axes]":
    r"""One entry of $V$ (left) and of the correlation $\rho$ (right) at the last depth: kernel density estimates of both laws
    and a histogram of the second (Shaped Transformer Fig. 1 and 7).

    **Arguments:**

    - `first`, `second`: laws such as the limit and its networks, of two paths or more.
    - `entry`: which two tokens, counted from zero; by default the first two. Of a token and itself, and of a single token,
      the variance is drawn alone. What does not vary is drawn as a vertical line.

    Examples:
        >>> block = fw.ShapedMLP()
        >>> law = fw.covariance_sde(block, fw.shaped.equal_tokens(2, 0.2), 0.25, paths=8, steps=4)
        >>> covariance, correlation = fw.figures.law_densities(law)
        >>> covariance.get_title()
        'Covariance'
    """
    covariance, correlation = two_axes(axes)
    a, b = as_entry(entry, first.V.shape[-1])
    covariance_density(first, second, covariance, (a, b))
    if a == b:
        correlation.set_axis_off()
        return covariance, correlation
    laws = _several(first, second)
    _draw(correlation, laws, [law.correlation()[:, -1, a, b] for law in laws], (-1.0, 1.0))
    correlation.set(xlabel=rf"$\rho({a},{b})$", ylabel="density", title="Correlation")
    correlation.legend(loc="best")
    if (legend := covariance.get_legend()) is not None:
        legend.remove()
    return covariance, correlation


@entry()
def covariance_density(
    first: CovarianceLaw,
    second: CovarianceLaw | None = None,
    axes: "Axes | None" = None,
    entry: tuple[int, int] | None = None,
) -> "Axes":
    """One entry of $V$ at the last depth, as `law_densities` draws it on the left.

    Examples:
        >>> block = fw.ShapedMLP()
        >>> law = fw.covariance_sde(block, fw.shaped.equal_tokens(2, 0.2), 0.25, paths=8, steps=4)
        >>> fw.figures.covariance_density(law).get_xlabel()
        '$V(0,1)$'
    """
    laws = _several(first, second)
    a, b = as_entry(entry, first.V.shape[-1])
    axes = one_axes(axes)
    _draw(axes, laws, [law.final[:, a, b] for law in laws], _reach(laws, a, b))
    axes.set(xlabel=f"$V({a},{b})$", ylabel="density", title="Variance" if a == b else "Covariance")
    axes.legend(loc="best")
    return axes


def _several(first: CovarianceLaw, second: CovarianceLaw | None) -> list[CovarianceLaw]:
    laws = [law for law in (first, second) if law is not None]
    for law, name in zip(laws, ("first", "second"), strict=False):
        if law.paths < 2:
            raise DomainError(name, f"a law of {law.paths} path", "at least 2 paths: a density needs as many")
    return laws


def density(values: Float[np.ndarray, " paths"], at: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
    """A Gaussian kernel density estimate."""
    from scipy.stats import gaussian_kde  # half a second to load

    return gaussian_kde(values)(at)


def as_entry(entry: Any, tokens: int) -> tuple[int, int]:
    """Two of so many tokens; by default the first two."""
    if entry is None:
        return 0, min(1, tokens - 1)
    try:
        a, b = entry
    except (TypeError, ValueError):
        raise ArgumentError("entry", repr(entry), "a pair of tokens such as (0, 1)") from None
    pair = as_count(a, "entry", at_least=0), as_count(b, "entry", at_least=0)
    if max(pair) >= tokens:
        raise DomainError("entry", pair, f"two of the tokens 0 to {tokens - 1}")
    return pair


def _reach(laws: list[CovarianceLaw], a: int, b: int) -> tuple[float, float]:
    """Where the bulk of an entry of the covariance lies; around it, if it is a single number."""
    ends = [(1 - _SHOWN) / 2, (1 + _SHOWN) / 2]
    low, high = (float(end) for end in np.quantile(np.concatenate([law.final[:, a, b] for law in laws]), ends))
    size = float(np.sqrt(np.median(laws[0].final[:, a, a]) * np.median(laws[0].final[:, b, b])))
    margin = 0.0 if high - low > 1e-9 * size else 0.1 * (size or 1.0)
    return low - margin, high + margin


def _draw(axes: "Axes", laws: list[CovarianceLaw], values: list[np.ndarray], reach: tuple[float, float]) -> None:
    at = np.linspace(*reach, _POINTS)
    for law, of, color in zip(laws, values, (ORANGE, BLUE), strict=False):
        style: Any = {
            "color": color,
            "linestyle": "--" if law.width is None else "-",
            "label": "limit" if law.width is None else f"networks, n = {law.width}",
        }
        if np.ptp(of) < at[1] - at[0]:  # narrower than the picture can show
            axes.axvline(float(np.median(of)), **style)
            continue
        if law.width is not None:
            axes.hist(of, bins=_BINS, range=reach, density=True, color=color, alpha=0.25)
        axes.plot(at, density(of, at), **style)
