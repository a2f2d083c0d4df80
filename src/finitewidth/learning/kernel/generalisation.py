"""When to stop training: the time at which the mean loss on inputs that were not seen is least."""

import math
from typing import Any

import equinox as eqx
import jax
import numpy as np
import scipy

from ..._entry import entry
from ..._errors import DomainError
from ..._result import Result
from ..._validation import as_count
from ...networks import MLP
from .bias_and_variance import GeneralisationError, generalisation_error
from .predict import predict
from .train_test import kernels_and_problem

_MOST_POINTS = 100_000


class OptimalStopping(Result, eqx.Module):
    """When the mean test loss of gradient flow is least."""

    time: float
    """`inf` if training to the end is best, 0 if not training at all is."""
    error: GeneralisationError
    at_the_end: GeneralisationError


@entry()
def optimal_stopping(
    net: MLP | None = None,
    x_train: Any = None,
    y_train: Any = None,
    x_test: Any = None,
    y_test: Any = None,
    *,
    kernel: Any = None,
    points: int = 33,
) -> OptimalStopping:
    r"""The time at which gradient flow of squared errors has the least mean test loss over initialisations, PDLT (10.52).

    It is sought between the times at which the fastest and the slowest direction of the training inputs are learned, and beyond,
    on `points` times that are then refined twice about the best. Not to train at all, and to train to the end, are among the answers.

    **Arguments:** as for `predict`; `y_test` are targets to be told.

    Examples:
        >>> kernel = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]]
        >>> best = fw.learning.optimal_stopping(kernel=kernel, y_train=[1.0, 0.0], y_test=[0.5])
        >>> bool(best.error.total < best.at_the_end.total)
        True
    """
    points = as_count(points, "points", at_least=3)
    if points > _MOST_POINTS:
        raise DomainError("points", points, f"at most {_MOST_POINTS} times")
    kernels, _ = kernels_and_problem(net, x_train, y_train, x_test, kernel)
    values = scipy.linalg.eigvalsh(kernels.Theta_train)
    both = kernels.Theta, kernels.K
    slowest = values[values > 1e-12 * values[-1]][0]
    low, high = 1e-3 / float(values[-1]), 30 / float(slowest)
    end = generalisation_error(predict(kernel=both, y_train=y_train), y_test)
    best_time, best = math.inf, end
    for _ in range(3):
        times = np.geomspace(low, high, points)
        way = predict(kernel=both, y_train=y_train, time=times[-1], record=times)
        errors = generalisation_error(way.trajectory, y_test)  # at time zero, then at `times`
        at = int(np.argmin(errors.total))
        if errors.total[at] < best.total:
            best_time, best = float(way.times[at]), jax.tree.map(lambda part, i=at: np.asarray(part[i]), errors)
        around = np.clip([at - 2, at], 0, points - 1)
        low, high = (float(times[i]) for i in around)
    if not math.isfinite(float(best.total)):
        raise DomainError("y_test", "targets with which the loss overflows", "smaller ones")
    return OptimalStopping(best_time, best, end)
