"""Two laws of a covariance matrix laid over one another: quantiles, Kolmogorov-Smirnov distances, densities."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ..._errors import ShapeError
from ...results import CovarianceLaw
from ..plain import plain
from ..section import Part
from .law import LEVELS, LawRow, about, entries, named, quantiles
from .law_tables import comparison_parts
from .pair_of_laws import PairOfLaws, check_comparable, is_rounding, row_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class LawComparison(PairOfLaws):
    """Entry by entry, at the last depth; paths that were stopped count where they were stopped."""

    first: CovarianceLaw
    second: CovarianceLaw
    rows: tuple[LawRow, ...]

    @staticmethod
    def told(law: CovarianceLaw) -> str:
        """A law in one line."""
        who = "limit" if law.width is None else f"networks of width {law.width}"
        return f"{who}, {law.paths} paths (method {law.method}, seed {law.seed})"

    def parts(self) -> tuple[Part, ...]:
        """What is shown below the verdict."""
        return comparison_parts(self.first, self.second, self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows."""
        laws: dict[str, Any] = {name: about(law) for name, law in (("first", self.first), ("second", self.second))}
        laws |= {"verdict": self.verdict}
        return plain({**laws, "levels": LEVELS, "rows": [row._asdict() for row in self.rows]})

    def plot(self, ax: "Axes | None" = None, entry: tuple[int, int] | None = None) -> "Axes":
        """Densities of one entry of the covariance, by default that of the first two tokens; `figures.law_densities` draws that of
        the correlation beside it."""
        from ...figures import covariance_density

        return covariance_density(self.first, self.second, ax, entry)


def compare_laws(first: CovarianceLaw, second: CovarianceLaw) -> LawComparison:
    """Lay two laws over one another at their last depth: the limit over networks, or two integrators; errors name them as `compare` does.

    **Arguments:**

    - `first`, `second`: results of `covariance_sde` or of `simulate(block, ...)`, of the same tokens and depth.
    """
    tokens = first.V.shape[-1]
    if second.V.shape[-1] != tokens:
        raise ShapeError("measured", f"{second.V.shape[-1]} tokens", f"{tokens}, as in `theory`")
    check_comparable(first, second, lambda law: law.V[0, 0])
    others, sizes = entries(second), _sizes(first)
    rows = tuple(_row(name, values, others[name], sizes[name]) for name, values in entries(first).items())
    return LawComparison(first, second, rows)


def _sizes(law: CovarianceLaw) -> dict[str, Float[np.ndarray, ""]]:
    """What rounding of each entry is relative to: typical norms for a covariance, which may itself be zero."""
    norms = np.sqrt(np.median(np.diagonal(law.final, axis1=1, axis2=2), axis=0))
    return named(np.outer(norms, norms), np.ones((len(norms), len(norms))))


def _row(
    entry: str, first: Float[np.ndarray, " paths"], second: Float[np.ndarray, " others"], size: Float[np.ndarray, ""]
) -> LawRow:
    """Of entries known exactly to both too, so that the table shows the whole covariance."""
    if is_rounding(first, second, size):
        return LawRow(entry, quantiles(first), quantiles(second), distance=0.0, p_value=1.0)
    return row_of(entry, first, second)
