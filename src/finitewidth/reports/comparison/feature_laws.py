"""Two laws of features laid over one another, field by field: Kolmogorov-Smirnov distances at some depths."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from ..._errors import ArgumentError, ShapeError
from ...results import FeatureLaw
from ..section import Part, Words
from .law import LawRow
from .law_tables import rows_table
from .pair_of_laws import SAME_DEPTH, PairOfLaws, check_comparable, is_rounding, row_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DEPTHS = (0.0, 0.5, 1.0)  # of the whole, where both laws have them
_SYMMETRIC = ("Phi", "G", "K", "velocity", "dPhi", "NTK")
_FOLLOWS = ("C",)  # from R and Phi


@dataclass(frozen=True, eq=False, repr=False)
class FeatureComparison(PairOfLaws):
    """Every independent entry of every field that both laws have, at the first, the middle and the last depth."""

    first: FeatureLaw
    second: FeatureLaw
    rows: tuple[LawRow, ...]

    @staticmethod
    def told(law: FeatureLaw) -> str:
        """A law in one line."""
        who = "limit" if law.width is None else f"networks, n = {law.width}, {law.method}"
        stopped = f", {np.mean(law.stopped):.1%} stopped" if law.stopped.any() else ""
        return f"{who} ({law.paths} paths{stopped}, seed {law.seed})"

    def parts(self) -> tuple[Part, ...]:
        """What is shown below the verdict."""
        heads = Words(f"first: {self.told(self.first)}"), Words(f"second: {self.told(self.second)}")
        return *heads, rows_table(self.rows)

    def plot(self, ax: "Axes | None" = None, field: str = "velocity") -> "Axes":
        """Densities of the first entry of a field of both laws at the last depth."""
        from ...figures import feature_density

        return feature_density(self.first, self.second, ax, field=field)


def compare_feature_laws(first: FeatureLaw, second: FeatureLaw) -> FeatureComparison:
    """Lay two laws of features over one another: the limit over networks, or networks drawn in two ways. Errors name them as `compare`
    does.

    **Arguments:**

    - `first`, `second`: results of `feature_learning_sde` or of `simulate(..., through="features")`, of the same inputs and targets.
    """
    if second.Phi.shape[-1] != first.Phi.shape[-1] or second.f.shape[-1] != first.f.shape[-1]:
        got = f"{second.Phi.shape[-1]} inputs and {second.f.shape[-1]} outputs of them in all"
        raise ShapeError("measured", got, f"{first.Phi.shape[-1]} and {first.f.shape[-1]}, as in `theory`")
    check_comparable(first, second, lambda law: law.Phi[0, 0])
    if not _trained_alike(first, second):
        raise ArgumentError("measured", "networks trained on other targets, or at another rate", "those of `theory`")
    one, other = entries(first), entries(second)
    both = ((name, values, other[name]) for name, values in one.items() if name in other)
    # Entries known exactly to both, such as those of the inputs, are left out.
    return FeatureComparison(
        first, second, tuple(row_of(*each) for each in both if not is_rounding(*each[1:], _size(*each[1:])))
    )


def _size(first: Float[np.ndarray, " paths"], second: Float[np.ndarray, " others"]) -> float:
    return max(1.0, np.abs(first).max(), np.abs(second).max())


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
        if abs(law.times[at] / law.times[-1] - share) > SAME_DEPTH:
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
