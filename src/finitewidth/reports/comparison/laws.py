"""Two laws of a covariance matrix laid over one another: quantiles, Kolmogorov-Smirnov distances, densities."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ..._errors import ArgumentError, DomainError, ShapeError
from ..._result import Result
from ..._table import Table, columns_of_records
from ...results import CovarianceLaw
from ..plain import plain
from ..section import Words
from .law import LEVELS, LawRow, about, entries, named, quantiles
from .law_tables import comparison_parts
from .same import check_same_description
from .verdict import TONES, Verdict, sentence_on_laws, verdict_on_laws

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import RenderableType

_SAME_DEPTH = 0.02  # relative difference of depth over width below which two laws are of one depth
_ROUNDING = 1e-9  # spreads and differences below this share of an entry's natural size are rounding


@dataclass(frozen=True, eq=False, repr=False)
class LawComparison(Result):
    """Entry by entry, at the last depth; paths that were stopped count where they were stopped."""

    first: CovarianceLaw
    second: CovarianceLaw
    rows: tuple[LawRow, ...]

    @property
    def worst(self) -> LawRow:
        """The entry with the smallest p-value."""
        return min(self.rows, key=lambda row: row.p_value)

    @property
    def verdict(self) -> Verdict:
        """Whether the two laws agree, by the smallest p-value and what noise alone would give in that many entries."""
        return verdict_on_laws(self.worst.p_value, len(self.rows), self.first.paths, self.second.paths)

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        worst = self.worst
        return sentence_on_laws(worst.p_value, worst.distance, len(self.rows), self.first.paths, self.second.paths)

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows."""
        laws: dict[str, Any] = {name: about(law) for name, law in (("first", self.first), ("second", self.second))}
        laws |= {"verdict": self.verdict}
        return plain({**laws, "levels": LEVELS, "rows": [row._asdict() for row in self.rows]})

    def table(self) -> Table:
        """One row for each entry."""
        columns = columns_of_records(self.rows)
        for side in ("first", "second"):
            quantiles = np.array([getattr(row, side) for row in self.rows])
            columns |= {f"{side} {level:g}": values for level, values in zip(LEVELS, quantiles.T, strict=True)}
            del columns[side]
        return Table({"first": _told(self.first), "second": _told(self.second)}, columns)

    def plot(self, ax: "Axes | None" = None, entry: tuple[int, int] | None = None) -> "Axes":
        """Densities of one entry of the covariance, by default that of the first two tokens; `figures.law_densities` draws that of
        the correlation beside it."""
        from ...figures import covariance_density

        return covariance_density(self.first, self.second, ax, entry)

    def __rich__(self) -> "RenderableType":
        from ..terminal import stacked

        said = Words(self.sentence, TONES[self.verdict])
        return stacked((said, *comparison_parts(self.first, self.second, self.rows)))

    def __str__(self) -> str:
        from ..terminal import as_text

        return as_text(self.__rich__())


def _told(law: CovarianceLaw) -> str:
    who = "limit" if law.width is None else f"networks of width {law.width}"
    return f"{who}, {law.paths} paths (method {law.method}, seed {law.seed})"


def compare_laws(first: CovarianceLaw, second: CovarianceLaw) -> LawComparison:
    """Lay two laws over one another at their last depth: the limit over networks, or two integrators.

    **Arguments:**

    - `first`, `second`: results of `covariance_sde` or of `simulate(block, ...)`, of the same tokens and depth.
    """
    tokens = first.V.shape[-1]
    if second.V.shape[-1] != tokens:
        raise ShapeError("second", f"{second.V.shape[-1]} tokens", f"{tokens}, as in `first`")
    if abs(second.depth_to_width / first.depth_to_width - 1) > _SAME_DEPTH:
        got = f"depth over width {second.depth_to_width:.4g}"
        raise DomainError("second", got, f"{first.depth_to_width:.4g}, as in `first`")
    check_same_description("second", first.block, second.block)
    if np.abs(first.V[0, 0] - second.V[0, 0]).max() > _ROUNDING * np.abs(first.V[0, 0]).max():
        raise ArgumentError("second", "paths of other inputs", "the same first covariance as in `first`")
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
    from scipy.stats import ks_2samp  # half a second to load

    if np.ptp(np.concatenate([first, second])) <= _ROUNDING * size:
        distance, p_value = 0.0, 1.0  # a number known exactly to both, whose last digits have a law of no interest
    else:
        distance, p_value = (float(value) for value in tuple(ks_2samp(first, second)))
    return LawRow(entry, quantiles(first), quantiles(second), distance, p_value)
