"""How long, how fast and on which samples to learn: the arguments of an algorithm, checked against each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._errors import ArgumentError, DomainError, ShapeError
from ..._validation import as_count, as_floats, as_number
from ...results import Training

ALGORITHMS = ("gradient_flow", "gradient_descent", "sgd", "newton")
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Schedule:
    """What is done, and the times at which the trajectory is kept: the first, the last, and those that were asked for."""

    training: Training
    times: tuple[float, ...]
    steps: list[int]
    """The numbers of steps at `times`; none where time is continuous or infinite."""

    @property
    def rate(self) -> float:
        """Of algorithms that have one."""
        assert self.training.rate is not None
        return self.training.rate

    @property
    def batches(self) -> tuple[tuple[int, ...], ...]:
        """Of algorithms that have some."""
        return self.training.batches or ()


def as_schedule(
    algorithm: str, loss: str, time: Any, rate: Any, steps: Any, batch: Any, seed: int, record: Any, samples: int
) -> Schedule:
    """Options that an algorithm does not have are refused, those that it needs are asked for."""
    has_steps = algorithm in ("gradient_descent", "sgd")
    end = _as_time(time)
    if algorithm == "newton" and loss != "mse":
        raise DomainError("algorithm", f"newton of {loss}", "newton of mse")
    given = {
        "time": algorithm != "gradient_flow" and math.isfinite(end),
        "batch": batch is not None and algorithm != "sgd",
    }
    given |= {"rate": rate is not None and not has_steps, "steps": steps is not None and not has_steps}
    for name, unwanted in given.items():
        if unwanted:
            raise ArgumentError(name, f"a value with algorithm {algorithm!r}", "none: that algorithm does not have it")
    if not has_steps:
        last = 1.0 if algorithm == "newton" else end
        kept = [] if record is None else [_as_time(each, "record") for each in as_floats(record, "record").ravel()]
        if kept and loss == "cross_entropy" and math.isinf(last):
            raise DomainError("record", "moments on the way to infinite time of cross-entropy", "a finite `time`")
        if kept and algorithm == "newton":
            raise ArgumentError("record", "moments of newton", "none: there is one step")
        return Schedule(Training(algorithm, loss, time=last), _moments(kept, last), [])
    if rate is None:
        raise ArgumentError("rate", "nothing", f"a learning rate for {algorithm!r}")
    eta = as_number(rate, "rate", low=0.0)
    if eta == 0:
        raise DomainError("rate", eta, "a number > 0")
    if steps is None and algorithm == "sgd":
        raise ArgumentError("steps", "nothing", "a number of steps for 'sgd'")
    count = math.inf if steps is None else as_count(steps, "steps")
    batches = _as_batches(batch, seed, count, samples) if algorithm == "sgd" else None
    kept = [] if record is None else [as_count(each, "record", at_least=0) for each in np.asarray(record).ravel()]
    if kept and loss == "cross_entropy" and math.isinf(count):
        raise DomainError("record", "steps on the way to the end of cross-entropy", "a finite number of `steps`")
    at = _moments(kept, count)
    how = Training(algorithm, loss, eta, None if steps is None else int(count), eta * count, batches)
    return Schedule(how, tuple(eta * each for each in at), [int(each) for each in at if math.isfinite(each)])


def _moments(kept: Sequence[float], last: float) -> tuple[float, ...]:
    late = [each for each in kept if each > last]
    if late:
        raise DomainError("record", f"{late[0]:g}", f"moments up to the last, {last:g}")
    return tuple(sorted({0.0, *map(float, kept), float(last)}))


def _as_time(time: Any, argument: str = "time") -> float:
    try:
        number = float(time)
    except (TypeError, ValueError):
        raise DomainError(argument, repr(time), "one number >= 0, or inf") from None
    if math.isnan(number) or number < 0 or (argument == "time" and number == 0):
        raise DomainError(argument, number, "a number > 0, or inf")
    return number


def _as_batches(batch: Any, seed: int, steps: float, samples: int) -> tuple[tuple[int, ...], ...]:
    """The samples that each step sees: those given, or epochs of shuffled samples, cut into batches of a size."""
    if batch is None:
        raise ArgumentError("batch", "nothing", "a number of samples a step, or the samples of each step, for 'sgd'")
    if not isinstance(batch, Sequence | np.ndarray):
        size = as_count(batch, "batch")
        if size > samples:
            raise DomainError("batch", size, f"at most {samples}, the training inputs")
        return shuffled_batches(samples, size, int(steps), seed)
    given = tuple(tuple(as_count(each, "batch", at_least=0) for each in one) for one in batch)
    if len(given) != steps:
        raise ShapeError("batch", f"{len(given)} batches", f"{steps:g}, one a step")
    for one in given:
        if not one or max(one) >= samples or len(set(one)) < len(one):
            raise DomainError("batch", list(one), f"different sample numbers from 0 to {samples - 1}")
    return given


def shuffled_batches(samples: int, size: int, steps: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """Batches of one `size`: every epoch visits the samples in a new order, and what does not fill a batch waits for the next."""
    random, batches = np.random.default_rng(seed), []
    while len(batches) < steps:
        order = random.permutation(samples)
        whole = len(order) // size * size
        batches += [tuple(int(each) for each in row) for row in order[:whole].reshape(-1, size)]
    return tuple(batches[:steps])
