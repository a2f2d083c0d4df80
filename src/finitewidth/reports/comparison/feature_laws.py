"""Two laws of features laid over one another, field by field: Kolmogorov-Smirnov distances at some depths."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from ..._errors import ArgumentError, DomainError, ShapeError
from ..._result import Result
from ..._table import Table, columns_of_records
from ...results import FeatureLaw
from ..section import Words
from .law import LEVELS, LawRow, quantiles
from .law_tables import rows_table
from .same import check_same_description
from .verdict import TONES, Verdict, sentence_on_laws, verdict_on_laws

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import RenderableType

_SAME_DEPTH = 0.02  # relative difference of depth over width below which two laws are of one depth
_ROUNDING = 1e-9
_DEPTHS = (0.0, 0.5, 1.0)  # of the whole, where both laws have them
_SYMMETRIC = ("Phi", "G", "K", "velocity", "dPhi", "NTK")
_FOLLOWS = ("C",)  # from R and Phi


@dataclass(frozen=True, eq=False, repr=False)
class FeatureComparison(Result):
    """Every independent entry of every field that both laws have, at the first, the middle and the last depth."""

    first: FeatureLaw
    second: FeatureLaw
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

    def table(self) -> Table:
        """One row for each entry."""
        columns = columns_of_records(self.rows)
        for side in ("first", "second"):
            found = np.array([getattr(row, side) for row in self.rows])
            columns |= {f"{side} {level:g}": values for level, values in zip(LEVELS, found.T, strict=True)}
            del columns[side]
        return Table({"first": _told(self.first), "second": _told(self.second), "verdict": self.verdict}, columns)

    def plot(self, ax: "Axes | None" = None, field: str = "velocity") -> "Axes":
        """Densities of the first entry of a field of both laws at the last depth."""
        from ...figures import feature_density

        return feature_density(self.first, self.second, ax, field=field)

    def __rich__(self) -> "RenderableType":
        from ..terminal import stacked

        said = Words(self.sentence, TONES[self.verdict])
        heads = Words(f"first: {_told(self.first)}"), Words(f"second: {_told(self.second)}")
        return stacked((said, *heads, rows_table(self.rows)))

    def __str__(self) -> str:
        from ..terminal import as_text

        return as_text(self.__rich__())


def _told(law: FeatureLaw) -> str:
    who = "limit" if law.width is None else f"networks, n = {law.width}, {law.method}"
    stopped = f", {np.mean(law.stopped):.1%} stopped" if law.stopped.any() else ""
    return f"{who} ({law.paths} paths{stopped}, seed {law.seed})"


def compare_feature_laws(first: FeatureLaw, second: FeatureLaw) -> FeatureComparison:
    """Lay two laws of features over one another: the limit over networks, or networks drawn in two ways.

    **Arguments:**

    - `first`, `second`: results of `feature_learning_sde` or of `simulate(..., through="features")`, of the same inputs and targets.
    """
    if second.Phi.shape[-1] != first.Phi.shape[-1] or second.f.shape[-1] != first.f.shape[-1]:
        got = f"{second.Phi.shape[-1]} inputs and {second.f.shape[-1]} outputs of them in all"
        raise ShapeError("second", got, f"{first.Phi.shape[-1]} and {first.f.shape[-1]}, as in `first`")
    if abs(second.depth_to_width / first.depth_to_width - 1) > _SAME_DEPTH:
        got = f"depth over width {second.depth_to_width:.4g}"
        raise DomainError("second", got, f"{first.depth_to_width:.4g}, as in `first`")
    check_same_description("second", first.block, second.block)
    if np.abs(first.Phi[0, 0] - second.Phi[0, 0]).max() > _ROUNDING * np.abs(first.Phi[0, 0]).max():
        raise ArgumentError("second", "paths of other inputs", "the same first covariance as in `first`")
    if not _trained_alike(first, second):
        raise ArgumentError("second", "networks trained on other targets, or at another rate", "those of `first`")
    one, other = entries(first), entries(second)
    rows = tuple(_row(name, values, other[name]) for name, values in one.items() if name in other)
    return FeatureComparison(first, second, tuple(row for row in rows if row is not None))


def _trained_alike(first: FeatureLaw, second: FeatureLaw) -> bool:
    """Also where one of the two is not trained at all: then only kernels are compared."""
    if first.targets is None or second.targets is None:
        return True
    return np.array_equal(first.targets, second.targets) and first.rate == second.rate


def entries(law: FeatureLaw) -> dict[str, Float[np.ndarray, " paths"]]:
    """Every independent entry of every field at the first, middle and last depth, by name; `C` follows from `R` and `Phi`."""
    found: dict[str, np.ndarray] = {}
    for share in _DEPTHS:
        at = int(np.argmin(np.abs(law.times / law.times[-1] - share)))
        if abs(law.times[at] / law.times[-1] - share) > _SAME_DEPTH:
            continue
        for name, field in law.at_depths.items():
            if name not in _FOLLOWS:
                found |= _of_matrix(f"{name}@{share:g}T", field[:, at], name in _SYMMETRIC)
    for name, field in law.of_paths.items():
        if field.ndim == 2:
            found |= {f"{name}({i})": field[:, i] for i in range(field.shape[1])}
        else:
            found |= _of_matrix(name, field, symmetric=True)
    return found


def _of_matrix(name: str, field: Float[np.ndarray, "paths i j"], symmetric: bool) -> dict[str, np.ndarray]:
    pairs = np.ndindex(field.shape[1:])
    return {f"{name}({a},{b})": field[:, a, b] for a, b in pairs if a <= b or not symmetric}


def _row(entry: str, first: Float[np.ndarray, " paths"], second: Float[np.ndarray, " others"]) -> LawRow | None:
    """`None` for entries known exactly to both, such as those of the inputs."""
    from scipy.stats import ks_2samp  # half a second to load

    both = np.concatenate([first, second])
    if np.ptp(both) <= _ROUNDING * max(1.0, np.abs(both).max()):
        return None
    distance, p_value = (float(value) for value in tuple(ks_2samp(first, second)))
    return LawRow(entry, quantiles(first), quantiles(second), distance, p_value)
