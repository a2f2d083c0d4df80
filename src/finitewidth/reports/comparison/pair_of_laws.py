"""What every comparison of two laws shares: who may be compared, a row for each entry, the verdict on all rows, and how they read."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from jaxtyping import Float

from ..._errors import ArgumentError, DomainError
from ..._result import Result
from ..._table import Table, columns_of_records
from ...results import CovarianceLaw, FeatureLaw
from ..section import Part, Words
from .law import LEVELS, LawRow, quantiles
from .same import check_same_description
from .verdict import TONES, Verdict, sentence_on_laws, verdict_on_laws

if TYPE_CHECKING:
    from rich.console import RenderableType

SAME_DEPTH = 0.02  # relative difference of depth over width below which two laws are of one depth
_ROUNDING = 1e-9  # spreads and differences below this share of an entry's natural size are rounding

Law = TypeVar("Law", CovarianceLaw, FeatureLaw)


@dataclass(frozen=True, eq=False, repr=False)
class PairOfLaws(Result):
    """Two laws laid over one another, entry by entry."""

    first: Any
    second: Any
    rows: tuple[LawRow, ...]

    @staticmethod
    @abstractmethod
    def told(law: Any) -> str:
        """A law in one line."""

    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """What is shown below the verdict."""

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

    def table(self) -> Table:
        """One row for each entry."""
        columns = columns_of_records(self.rows)
        for side in ("first", "second"):
            found = np.array([getattr(row, side) for row in self.rows])
            columns |= {f"{side} {level:g}": values for level, values in zip(LEVELS, found.T, strict=True)}
            del columns[side]
        told = {"first": self.told(self.first), "second": self.told(self.second)}
        return Table({**told, "verdict": self.verdict}, columns)

    def __rich__(self) -> "RenderableType":
        from ..terminal import stacked

        return stacked((Words(self.sentence, TONES[self.verdict]), *self.parts()))

    def __str__(self) -> str:
        from ..terminal import as_text

        return as_text(self.__rich__())


def check_comparable(first: Law, second: Law, start: Callable[[Law], Float[np.ndarray, "m m"]]) -> None:
    """Laws of one block, one depth and the same inputs, whose covariance `start` tells."""
    if abs(second.depth_to_width / first.depth_to_width - 1) > SAME_DEPTH:
        got = f"depth over width {second.depth_to_width:.4g}"
        raise DomainError("measured", got, f"{first.depth_to_width:.4g}, as in `theory`")
    check_same_description("measured", first.block, second.block)
    one, other = start(first), start(second)
    if np.abs(one - other).max() > _ROUNDING * np.abs(one).max():
        raise ArgumentError("measured", "paths of other inputs", "the same first covariance as in `theory`")


def is_rounding(
    first: Float[np.ndarray, " paths"], second: Float[np.ndarray, " others"], size: Float[np.ndarray, ""] | float
) -> bool:
    """Whether an entry of this natural size is a number known exactly to both, whose last digits have a law of no interest."""
    return bool(np.ptp(np.concatenate([first, second])) <= _ROUNDING * size)


def row_of(entry: str, first: Float[np.ndarray, " paths"], second: Float[np.ndarray, " others"]) -> LawRow:
    """One entry by its Kolmogorov-Smirnov distance."""
    from scipy.stats import ks_2samp  # half a second to load

    distance, p_value = (float(value) for value in tuple(ks_2samp(first, second)))
    return LawRow(entry, quantiles(first), quantiles(second), distance, p_value)
