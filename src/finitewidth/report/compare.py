"""`compare`: theory laid over measurement, entry by entry, in standard errors."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from jaxtyping import Float, Int

from .._errors import ArgumentError, ShapeError
from ..ensembles import MeasuredFlow
from ..flow import Flow
from ..networks.shaped import CovarianceLaw
from .compare_laws import LawComparison, compare_laws
from .components import components
from .plain import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import RenderableType

# Differences below this, relative to the natural size of a quantity, are rounding: entries that do not fluctuate at
# all (the first layer; the square of a sign) are known exactly, and have no standard error worth the name.
_ROUNDING = 1e-12


class Row(NamedTuple):
    """One entry: theory, measurement, and their difference in standard errors (measured minus theory)."""

    quantity: str
    layer: int
    component: str
    theory: float
    measured: float
    standard_error: float
    deviation: float


class Summary(NamedTuple):
    """One quantity in one layer: how far its entries are off, and how far noise alone would put the farthest."""

    quantity: str
    layer: int
    entries: int
    largest: float
    rms: float
    expected_largest: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every independent entry of K, G1, V and, if both sides know them, Theta, H1, A, B, D, F in every layer measured; columns
    are arrays of equal length.

    Theory's side of `K` is $K + G^{\\{1\\}}/n$, the mean metric to the order known, PDLT (4.104), and that of `Theta` is
    $\\Theta + H^{\\{1\\}}/n$, PDLT (9.3). Theory is exact up to
    higher orders in 1/n, so with enough networks deviations must show: they shrink when widths grow.
    """

    quantity: np.ndarray
    layer: Int[np.ndarray, " R"]
    component: np.ndarray
    theory: Float[np.ndarray, " R"]
    measured: Float[np.ndarray, " R"]
    standard_error: Float[np.ndarray, " R"]
    deviation: Float[np.ndarray, " R"]
    network: str
    networks: int
    seed: int
    method: str

    def __len__(self) -> int:
        return len(self.deviation)

    def __getitem__(self, index: int) -> Row:
        return Row(
            str(self.quantity[index]),
            int(self.layer[index]),
            str(self.component[index]),
            *(float(column[index]) for column in (self.theory, self.measured, self.standard_error, self.deviation)),
        )

    def __iter__(self) -> Iterator[Row]:
        return (self[index] for index in range(len(self)))

    @property
    def worst(self) -> Row:
        """The entry that is farthest off."""
        return self.farthest(1)[0]

    def farthest(self, count: int) -> list[Row]:
        """The `count` entries that are farthest off, the worst first."""
        return [self[int(index)] for index in np.argsort(-np.abs(self.deviation), kind="stable")[:count]]

    def summary(self) -> list[Summary]:
        """One line for each quantity and layer."""
        lines = []
        for name in self.quantities:
            of = self.quantity == name
            for layer in np.unique(self.layer[of]):
                lines.append(self._summary(name, int(layer), of & (self.layer == layer)))
        return lines

    @property
    def quantities(self) -> list[str]:
        """The names of what is compared, in order."""
        return list(dict.fromkeys(self.quantity.tolist()))

    def _summary(self, name: str, layer: int, mask: np.ndarray) -> Summary:
        deviation = self.deviation[mask]
        uncertain = int((self.standard_error[mask] > 0).sum())
        rms = float(np.sqrt(np.mean(deviation**2)))
        return Summary(name, layer, len(deviation), float(np.abs(deviation).max()), rms, expected_largest(uncertain))

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows; an infinite deviation is the string "inf"."""
        about = {"network": self.network, "networks": self.networks, "seed": self.seed, "method": self.method}
        rows = [row._asdict() for row in self]
        return plain({**about, "rows": rows, "summary": [line._asdict() for line in self.summary()]})

    def plot(self, axes: "tuple[Axes, Axes] | None" = None) -> "tuple[Axes, Axes]":
        """Measured against theory, and deviations by layer; on a new figure unless `axes` are given."""
        from ..figures import comparison  # matplotlib is loaded by those who draw

        return comparison(self, axes)

    def __rich__(self) -> "RenderableType":
        from .compare_table import renderable

        return renderable(self)

    def __str__(self) -> str:
        from .terminal import as_text

        return as_text(self.__rich__())

    __repr__ = __str__


def expected_largest(count: int) -> float:
    r"""The mean largest of $m$ independent $|z|$, $z$ normal: $\int_0^\infty 1 - \mathrm{erf}(t/\sqrt2)^m\,dt$."""
    if count == 0:
        return 0.0
    t = np.linspace(0.0, 12.0, 1201)
    inside = np.array([math.erf(value / math.sqrt(2)) for value in t])
    return float(np.trapezoid(1 - inside**count, t))


@overload
def compare(theory: CovarianceLaw, measured: CovarianceLaw) -> LawComparison: ...
@overload
def compare(theory: Flow, measured: MeasuredFlow) -> Comparison: ...
def compare(theory: Flow | CovarianceLaw, measured: MeasuredFlow | CovarianceLaw) -> Comparison | LawComparison:
    """Lay theory over measurement: a table of deviations, a summary, a plot.

    **Arguments:**

    - `theory`: the result of `flow`, through the vertex or the tangent kernel; or that of `covariance_sde`.
    - `measured`: the result of `simulate` for the same network and inputs, or for the same block.

    **Returns:** for flows a [`Comparison`][finitewidth.report.compare.Comparison], entry by entry in standard errors, of all
    that both have; for laws of covariances a [`LawComparison`][finitewidth.report.compare_laws.LawComparison] of quantiles and
    distances. Print it, or call its `plot`.
    """
    if isinstance(theory, CovarianceLaw):
        if not isinstance(measured, CovarianceLaw):
            raise ArgumentError(
                "measured", type(measured).__name__, "a law of covariances: that of `simulate(block, ...)`"
            )
        return compare_laws(theory, measured)
    return _compare_flows(theory, measured)


def _compare_flows(theory: Any, measured: Any) -> Comparison:
    _check(theory, measured)
    columns = [part.columns(theory, measured) for part in components(theory, measured)]
    quantity, layer, component, expected, found, error, size = (
        np.concatenate(column) for column in zip(*columns, strict=True)
    )
    return Comparison(
        quantity,
        layer,
        component,
        expected,
        found,
        error,
        _deviation(found - expected, error, size),
        network=repr(theory.net),
        networks=measured.networks,
        seed=measured.seed,
        method=measured.method,
    )


def _deviation(difference: np.ndarray, error: np.ndarray, size: np.ndarray) -> np.ndarray:
    """In standard errors; zero for rounding, infinite where what is known exactly is different."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(difference) <= _ROUNDING * size, 0.0, difference / error)


def _check(theory: Flow, measured: MeasuredFlow) -> None:
    if not isinstance(theory, Flow):
        raise ArgumentError("theory", type(theory).__name__, "the result of `flow` or `covariance_sde`")
    if not isinstance(measured, MeasuredFlow):
        raise ArgumentError("measured", type(measured).__name__, "the result of `simulate`")
    if theory.vertex is None:
        raise ArgumentError("theory", "a flow that stops at the kernel", "flow(..., through='vertex')")
    if theory.net.widths != measured.widths:
        raise ArgumentError("measured", f"networks of widths {measured.widths}", f"{theory.net.widths}, as in `theory`")
    if theory.K.shape != measured.K.mean.shape:
        samples = measured.K.mean.shape[-1]
        raise ShapeError("measured", f"{samples} inputs", f"{theory.K.shape[-1]}, as in `theory`")
