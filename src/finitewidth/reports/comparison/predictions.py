"""Predictions of theory laid over trained networks, moment by moment, in standard errors."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ..._arrays import Array
from ..._errors import ArgumentError, DomainError
from ..._fingerprint import fingerprint
from ..._result import Result
from ...results import Measurement, Prediction, Trajectory
from ..numbers import digits
from ..plain import plain
from ..section import Column, Table, Tone, Words
from .flow_tables import deviation
from .same import check_same_description
from .verdict import TONES, Verdict, in_standard_errors, sentence_on, verdict_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import RenderableType

_SAME_TIME = 1e-9
_WORST = 8  # entries that a table shows


class PredictionRow(NamedTuple):
    """One entry at one moment: theory, measurement, and their difference in standard errors (measured minus theory)."""

    quantity: str
    time: float
    component: str
    theory: float
    measured: float
    standard_error: float
    deviation: float
    trustworthy: bool


@dataclass(frozen=True, eq=False, repr=False)
class PredictionComparison(Result):
    """Loss, mean and every independent entry of the covariance at the moments that both sides know; columns of equal length.

    Theory leaves out higher orders in 1/n, so with enough networks deviations must show: they shrink when widths grow.
    Entries whose standard errors cannot be trusted count for nothing.
    """

    theory: Prediction
    measured: Prediction
    rows: tuple[PredictionRow, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[PredictionRow]:
        return iter(self.rows)

    def farthest(self, count: int) -> list[PredictionRow]:
        """The `count` entries that are farthest off, the worst first; those that cannot tell come after all others."""
        return sorted(self.rows, key=lambda row: (not row.trustworthy, -abs(row.deviation)))[:count]

    @property
    def worst(self) -> PredictionRow:
        """The entry that is farthest off."""
        return self.farthest(1)[0]

    @property
    def verdict(self) -> Verdict:
        """Whether theory and networks agree, by the largest deviation and what noise alone would give."""
        return verdict_on(*self._largest())

    @property
    def sentence(self) -> str:
        """The verdict in words, and what the networks had still to learn where theory is of the end of training."""
        return sentence_on(*self._largest(), self.silent) + self._unfinished()

    @property
    def silent(self) -> str:
        """Quantities and times of which entries cannot tell, such as `loss at time 2`; empty where all can."""
        times: dict[str, list[str]] = {}
        for row in self.rows:
            if not row.trustworthy:
                times.setdefault(row.quantity, []).append(f"{row.time:.4g}")
        found = ((name, list(dict.fromkeys(each))) for name, each in times.items())
        return ", ".join(f"{name} at time{'s' * (len(at) > 1)} {', '.join(at)}" for name, at in found)

    def _unfinished(self) -> str:
        if not _is_of_the_end(self.theory):
            return ""
        time, left = float(np.asarray(self.measured.times)[-1]), float(_value(self.measured.loss)[-1])
        told = (
            f" Theory is of the end of training, at a loss of {float(_value(self.theory.loss)[-1]):.3g}; the networks stopped at "
            f"time {time:.4g} and a loss of {left:.3g}, so losses are not compared there."
        )
        advice = f" Train them longer, or compare with `predict` until `time={time:.4g}`."
        return told + (advice if self.verdict == Verdict.DISAGREE else "")

    def _largest(self) -> tuple[float, int, int]:
        """The largest deviation of those that can tell, how many of them fluctuate, and how many cannot tell."""
        told = [row for row in self.rows if row.trustworthy]
        fluctuating = sum(row.standard_error > 0 for row in told)
        return max((abs(row.deviation) for row in told), default=0.0), fluctuating, len(self.rows) - len(told)

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON knows; an infinite deviation is the string "inf"."""
        about = {"theory": repr(self.theory), "measured": repr(self.measured), "verdict": self.verdict}
        return plain({**about, "rows": [row._asdict() for row in self.rows]})

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Deviations by time, in standard errors; `figures.training` draws loss and outputs of both sides."""
        from ...figures import deviations_by_time

        return deviations_by_time(self, ax)

    def __rich__(self) -> "RenderableType":
        from ..terminal import stacked

        rows = self.farthest(_WORST)
        table = Table(
            (
                Column("entry", tuple(row.component for row in rows), left=True),
                Column("time", tuple(f"{row.time:.4g}" for row in rows)),
                Column("theory", digits((row.theory for row in rows), 6)),
                Column("measured", digits((row.measured for row in rows), 6)),
                Column("± error", digits((row.standard_error for row in rows), 2)),
                Column("deviation", tuple(deviation(row.deviation, row.trustworthy) for row in rows)),
            ),
            title="Farthest entries",
        )
        head = f"{self.theory!r} against {self.measured.ensemble.networks if self.measured.ensemble else 0} networks"
        return stacked((Words(head, Tone.STRONG), Words(self.sentence, TONES[self.verdict]), table))

    def __str__(self) -> str:
        from ..terminal import as_text

        return as_text(self.__rich__())

    __repr__ = __str__


def compare_predictions(theory: Prediction[Array], measured: Prediction[Measurement]) -> PredictionComparison:
    """Every entry that both have, of one network, the same data and the same loss, at the moments of training that both know.

    Theory of the end of training is laid over the last moment of the networks, but for the loss, which they have not brought to its
    end by then. Theory of steps is laid over networks that took the same
    ones: of the same rate and, if stochastic, of the same batches.
    """
    _check_comparable(theory, measured)
    rows: list[PredictionRow] = []
    for mine, other, time in _common_moments(theory, measured):
        at_the_end = _is_of_the_end(theory) and mine == len(theory.times) - 1
        found = _rows(theory.trajectory, mine, measured.trajectory, other, time)
        rows += [row for row in found if not (at_the_end and row.quantity == "loss")]
    return PredictionComparison(theory, measured, tuple(rows))


def _check_comparable(theory: Prediction[Array], measured: Prediction[Measurement]) -> None:
    if theory.ensemble is not None:
        raise ArgumentError("theory", "trained networks", "the result of `predict`")
    if measured.ensemble is None:
        raise ArgumentError("measured", "theory", "the result of `train`")
    if theory.net is None:
        raise ArgumentError("theory", "a prediction from kernels", "that of the network that was trained")
    check_same_description("measured", theory.net, measured.net)
    for name in ("x_train", "y_train", "x_test"):
        one, other = (np.asarray(getattr(side.problem, name)) for side in (theory, measured))
        if fingerprint(one) != fingerprint(other):
            raise ArgumentError("measured", f"networks that saw another {name}", "that of `theory`")
    mine, other = theory.training, measured.training
    if mine.loss != other.loss:
        raise ArgumentError("measured", f"networks trained on {other.loss}", f"{mine.loss}, as in `theory`")
    if mine.rate is not None and mine.steps is not None:
        for name in ("rate", "batches"):
            if getattr(mine, name) != getattr(other, name):
                raise ArgumentError(
                    "measured", f"networks trained with another `{name}`", f"that of `theory`: {mine.rate:g}"
                )


def _is_of_the_end(theory: Prediction[Array]) -> bool:
    """Whether theory's last moment is the end of training, which networks approach and never reach."""
    return math.isinf(float(np.asarray(theory.times)[-1])) or theory.training.algorithm == "newton"


def _common_moments(theory: Prediction[Array], measured: Prediction[Measurement]) -> list[tuple[int, int, float]]:
    """Where on both trajectories, and when; the end of theory is compared with the last moment of the networks."""
    found, times = [], np.asarray(measured.times)
    for mine, time in enumerate(np.asarray(theory.times)):
        ends = mine == len(theory.times) - 1 and _is_of_the_end(theory)
        near = np.flatnonzero(np.abs(times - time) <= _SAME_TIME * max(time, 1.0)) if not ends else [len(times) - 1]
        found += [(mine, int(other), float(times[other])) for other in near]
    if not any(time > 0 for _, _, time in found):
        got = f"networks trained up to time {times[-1]:g}"
        raise DomainError(
            "measured", got, f"moments in common with `theory`, which knows {np.asarray(theory.times).tolist()[:8]}"
        )
    return found


def _rows(
    theory: Trajectory[Any], mine: int, measured: Trajectory[Any], other: int, time: float
) -> Iterator[PredictionRow]:
    variances, covariance = _value(theory.variance)[mine], _value(theory.covariance)[mine]
    tests, outputs = variances.shape
    names = [f"{b},{i}" for b in range(tests) for i in range(outputs)]
    one, two = np.triu_indices(tests * outputs)
    flat = covariance.transpose(0, 2, 1, 3).reshape(tests * outputs, -1).shape
    scale = float(np.sqrt(variances.max()) + np.abs(_value(theory.mean)[mine]).max())
    parts = (
        ("loss", ["loss"], float(_value(theory.loss)[0]), lambda array: array[None]),
        ("mean", [f"mean({name})" for name in names], scale, lambda array: array.ravel()),
        (
            "covariance",
            [f"covariance({names[a]};{names[b]})" for a, b in zip(one, two, strict=True)],
            scale**2,
            lambda array: array.transpose(0, 2, 1, 3).reshape(flat)[one, two],
        ),
    )
    for quantity, components, size, chosen in parts:
        expected, found = getattr(theory, quantity), getattr(measured, quantity)
        columns = _columns(expected, mine, found, other, size, chosen)
        for component, *numbers, trustworthy in zip(components, *columns, strict=True):
            one_theory, one_measured, error, far = map(float, numbers)
            yield PredictionRow(quantity, time, component, one_theory, one_measured, error, far, bool(trustworthy))


def _columns(
    expected: Any, mine: int, found: Measurement, other: int, size: float, chosen: Any
) -> tuple[Float[np.ndarray, " R"] | Bool[np.ndarray, " R"], ...]:
    theory, measured, error = (
        chosen(_value(expected)[mine]),
        chosen(found.mean[other]),
        chosen(found.standard_error[other]),
    )
    if isinstance(expected, Measurement):  # theory that draws first outputs has errors too
        error = np.sqrt(error**2 + chosen(expected.standard_error[mine]) ** 2)
    far = in_standard_errors(measured - theory, error, np.asarray(size))
    return theory, measured, error, far, chosen(found.trustworthy[other])


def _value(leaf: Any) -> np.ndarray:
    return np.asarray(leaf.mean if isinstance(leaf, Measurement) else leaf)
