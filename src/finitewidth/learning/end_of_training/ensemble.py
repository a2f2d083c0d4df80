"""Predictions to order 1/n: from the arguments of `predict` to its result."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..._arrays import Array
from ..._errors import ArgumentError, DomainError
from ..._progress import ProgressBar
from ...expansion import flow
from ...expansion.flow import flow_elsewhere, known_to
from ...networks import MLP
from ...results import Flow, LearningProblem, Training, Trajectory
from ..bayesian.blocks import AT_ONCE, meetings
from ..digits import Figures, difference, may_be_lost, rounded_anew
from ..kernel.learners import check_stable
from ..kernel.schedule import as_schedule
from ..kernel.train_test import TrainTestKernels
from .algorithm import as_pace, positive_spectrum
from .chains import Pace
from .finite_prediction import FinitePrediction, said, trust_of
from .moments import PARTS, Moments
from .projectors import Projectors
from .statistics import NAMES, Statistics, statistics_of

_MOST_BYTES = 4 * 2**30
_WORST = 1e8
"""Condition number from which the correction H1/n may be larger than the least eigenvalue by rounding."""


def predict_to_first_order(
    net: MLP,
    kernels: TrainTestKernels,
    problem: LearningProblem,
    algorithm: str,
    rate: Any,
    steps: Any,
    time: Any,
    record: Any,
    progress: bool | None,
) -> FinitePrediction:
    """`predict(..., order=1)` of a network on inputs that were checked."""
    train, test, y = (np.asarray(each) for each in (problem.x_train, problem.x_test, problem.y_train))
    pace, direct = as_pace(algorithm, rate, steps, time)
    training, times = _moments(algorithm, rate, steps, time, record, len(y))
    values, vectors = positive_spectrum(kernels.Theta_train, "x_train")
    limit = kernels.Theta_cross @ vectors @ (pace.chain(values)[:, None] * (vectors.T @ y))
    both = np.concatenate([train, test])
    condition = float(values[-1] / values[0])
    try:
        gathered, last = _gathered(partial(flow, through="ddntk"), net, both, y, times, pace.rate, direct, progress)
    except DomainError as error:
        if error.argument != "x_train" or condition < _WORST:
            raise
        want = "inputs none of which is nearly a copy of another: make one of such, with the mean of their targets"
        raise DomainError(
            "x_train", f"{error.got}, by rounding: the condition number is {condition:.2g}", want
        ) from None
    trajectory: Trajectory[Array] = Trajectory(
        gathered.mean, gathered.own, gathered.wiring, times=np.asarray(times), loss=np.asarray(gathered.losses)
    )
    error = 0.0
    if may_be_lost(condition, known_to(net, both[: len(train) + min(len(test), 2 * AT_ONCE)])):
        found, (again, order) = gathered.corrections(limit, kernels), rounded_anew(both, len(train))
        try:
            other, _ = _gathered(flow_elsewhere, net, again, y[order], times[:1] + times[-1:], pace.rate, direct, False)
            error = difference(found, other.corrections(limit, kernels))
        except DomainError:  # a mean tangent kernel that is positive or not, as rounding has it
            error = 1.0
    return said(
        FinitePrediction(
            gathered.mean[-1],
            gathered.own[-1],
            gathered.wiring[-1],
            trajectory=trajectory,
            problem=problem,
            training=training,
            net=net,
            order=1,
            mean_limit=limit,
            mean_kernel=gathered.kernel,
            mean_fluctuation=gathered.parts["fluctuation"],
            mean_dntk=gathered.parts["dntk"],
            mean_ddntk_I=gathered.parts["ddntk_I"],
            mean_ddntk_II=gathered.parts["ddntk_II"],
            trust=trust_of(last, net.depth_over_width, error),
        ),
        np.diagonal(kernels.K_test),
        kernels.Theta_train,
    )


def _gathered(
    flow_of: Callable[..., Flow],
    net: MLP,
    x: Float[np.ndarray, "D n_0"],
    y: Float[np.ndarray, "A n_L"],
    times: tuple[float, ...],
    rate: float,
    direct: bool,
    progress: bool | None,
) -> tuple["_Gathered", Moments]:
    """Of training inputs, which stand first, and test inputs, some of these at a time; and the moments of the last of them."""
    A = len(y)
    gathered, blocks, last = _Gathered(times, len(x) - A, y.shape[1]), meetings(len(x) - A), None
    with ProgressBar(len(blocks), progress, things="blocks of test samples") as bar:
        for done, block in enumerate(blocks, start=1):
            theory = flow_of(net, np.concatenate([x[:A], x[A + block]]))
            seen, vectors = statistics_of(theory, A, net.depth).turned()
            if rate:
                check_stable(float(seen.values.max()), rate, "the training inputs at this width")
            last = gathered.add(block, seen, vectors.T @ y, rate, direct)
            bar.advance_to(done)
    assert last is not None
    return gathered, last


def moments_at(
    seen: Statistics, y: Float[np.ndarray, "A n_L"], rate: float, time: float, direct: bool = False
) -> Moments:
    """Of an ensemble seen from the eigendirections, with targets `y` in that basis."""
    return Moments(seen, Projectors(seen.values, len(seen.H) - seen.trained, Pace(rate, time), direct), y)


class _Gathered:
    """Mean and covariance at some times, of blocks of test inputs one after another."""

    def __init__(self, times: tuple[float, ...], tests: int, outputs: int):
        self.times, shape = times, (len(times), tests)
        self.mean, self.own = np.zeros((*shape, outputs)), np.zeros((*shape, tests))
        self.wiring = np.zeros((*shape, tests, outputs, outputs))
        self.kernel = np.zeros((tests, outputs))
        self.parts = {name: np.zeros((tests, outputs)) for name in PARTS}
        self.losses: list[float] = []

    def add(
        self,
        block: Int[np.ndarray, " B"],
        seen: Statistics,
        y: Float[np.ndarray, "A n_L"],
        rate: float,
        direct: bool,
    ) -> Moments:
        """One more block; the moments of it at the last time."""
        both, ends = np.ix_(block, block), math.inf if direct else self.times[-1]
        self.own[0][both] = seen.G[seen.trained :, seen.trained :]
        for at, time in enumerate(self.times[1:-1], start=1):
            self._keep(at, block, moments_at(seen, y, rate, time, direct))
        moments = moments_at(seen, y, rate, ends, direct)
        kernel, parts = self._keep(-1, block, moments)
        self.kernel[block] = kernel
        for name, part in parts.items():
            self.parts[name][block] = part
        if not self.losses:
            self.losses = [training_loss(seen, y, rate, time, direct) for time in self.times]
        return moments

    def corrections(self, limit: Float[np.ndarray, "B n_L"], kernels: TrainTestKernels) -> Figures:
        """What is printed of order 1/n, and the whole covariance, at the last time; with what each is added to."""
        mean, variance = float(np.linalg.norm(limit)), float(np.linalg.norm(kernels.K_test))
        parts = {"shift": self.mean[-1] - limit, **self.parts}
        of_mean = {name: (part, mean) for name, part in parts.items()}
        return of_mean | {"own": (self.own[-1], variance), "wiring": (self.wiring[-1], variance)}

    def _keep(
        self, at: int, block: Int[np.ndarray, " B"], moments: Moments
    ) -> tuple[Float[np.ndarray, "B n_L"], dict[str, Float[np.ndarray, "B n_L"]]]:
        """Mean and covariance at one time; the mean in its parts."""
        kernel, parts, both = moments.kernel_mean(), moments.mean_parts(), np.ix_(block, block)
        self.mean[at][block] = kernel + sum(parts.values())
        self.own[at][both], self.wiring[at][both] = moments.covariance()
        return kernel, parts


def training_loss(
    seen: Statistics, y: Float[np.ndarray, "A n_L"], rate: float, time: float, direct: bool = False
) -> float:
    r"""$E[\mathcal L_{\mathcal A}]$ to order $1/n$: training inputs are asked as if they were for test."""
    A, outputs = seen.trained, y.shape[1]
    if time == 0:
        return float(np.sum(y**2) + outputs * np.trace(seen.G[:A, :A])) / 2
    if math.isinf(time) or direct:
        return 0.0
    copies = seen.chosen(np.tile(np.arange(A), 2))
    moments = moments_at(copies, y, rate, time)
    mean, parts = moments.kernel_mean(), sum(moments.mean_parts().values())
    own, wiring = moments.covariance()
    square = np.sum((mean - y) ** 2) + 2 * np.sum((mean - y) * parts)  # the square of a correction is of the next order
    return float(square + outputs * np.trace(own) + np.einsum("aaii->", wiring)) / 2


def _moments(
    algorithm: str, rate: Any, steps: Any, time: Any, record: Any, samples: int
) -> tuple[Training, tuple[float, ...]]:
    if algorithm == "two_step":
        if record is not None:
            raise ArgumentError("record", "moments of two_step", "none: there are two steps")
        return Training(algorithm, "mse", steps=2, time=2.0), (0.0, 2.0)
    schedule = as_schedule(algorithm, "mse", time, rate, steps, None, 0, record, samples)
    return schedule.training, schedule.times


def check_memory(net: MLP, train: int, test: int) -> None:
    """`DomainError` where tensors of four samples would not fit."""
    samples = train + min(test, 2 * AT_ONCE)
    needed = 8 * (net.depth + 2) * (len(NAMES) + 1) * samples**4
    if needed > _MOST_BYTES:
        got = f"{train} training samples at order 1, whose tensors of four samples take about {needed / 2**30:.3g} GB"
        want = f"at most {_MOST_BYTES / 2**30:.3g} GB, which grow as N^4, as does the time: use order=0, or fewer training samples"
        raise DomainError("x_train", got, want)
