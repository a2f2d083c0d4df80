"""How far trained networks are from targets that they have not seen: bias, variance, and when to stop."""

import math
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float
from scipy.linalg import eigvalsh

from ..._arrays import Array
from ..._entry import entry
from ..._errors import ArgumentError, DomainError, ShapeError
from ..._result import Result
from ..._validation import as_floats
from ...networks import MLP
from ...results import Measurement, OutputMoments
from ..losses import Loss, as_loss
from .predict import predict
from .train_test import kernels_and_problem


class GeneralisationError(Result, eqx.Module):
    r"""The mean loss on test inputs, a sum over them, in two parts; along the first axis the times of a trajectory, if it is one."""

    bias: Float[Array, "*times"]
    """The loss of the mean prediction."""
    variance: Float[Array, "*times"]
    """What the spread of networks adds."""

    @property
    def total(self) -> Float[Array, "*times"]:
        r"""$E[\mathcal L_{\mathcal B}]$."""
        return self.bias + self.variance


@entry()
def generalisation_error(prediction: OutputMoments, y_test: Any, loss: str | Loss = "mse") -> GeneralisationError:
    r"""The mean test loss over initialisations, as a bias and a variance, PDLT (10.50)-(10.55):

    $$E[\mathcal L_{\mathcal B}] = \mathcal L_{\mathcal B}(m) +
      \tfrac12\sum\frac{\partial^2\mathcal L_{\mathcal B}}{\partial z_{i;\beta_1}\partial z_{j;\beta_2}}
      \mathrm{Cov}[z_{i;\beta_1}, z_{j;\beta_2}] + \dots,$$

    exact for squared errors, where it is $\frac12\sum_{i\beta}[(m-y)^2 + \mathrm{Var}]$, PDLT (10.52), and to second order in the
    fluctuations for other losses. The loss of training being zero, this is the generalisation error itself, PDLT (10.50)-(10.51).

    **Arguments:**

    - `prediction`: what `predict` returns, or its `trajectory`, for every moment of it.
    - `y_test`: targets, one test input a row.
    - `loss`: a name, or a function of outputs and targets, one sample a row, to a number that is a sum over samples.

    Examples:
        >>> kernel = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]]
        >>> error = fw.learning.generalisation_error(fw.predict(kernel=kernel, y_train=[1.0, 0.0]), [0.5])
        >>> float(error.bias.round(6)), float(error.variance.round(6))
        (0.125, 0.42)
    """
    if not isinstance(prediction, OutputMoments):
        raise ArgumentError("prediction", type(prediction).__name__, "a Prediction or its trajectory")
    cost = as_loss(loss)
    mean, covariance = (_values(leaf) for leaf in (prediction.mean, _of_each_sample(prediction)))
    array = np.asarray(as_floats(y_test, "y_test"))
    targets = array[:, None] if array.ndim == 1 else array
    if targets.shape != mean.shape[-2:]:
        raise ShapeError(
            "y_test", f"shape {array.shape}", f"shape {mean.shape[-2:]}: one target a test input and output"
        )
    if loss == "mse":
        bias = np.sum((mean - targets) ** 2, axis=(-2, -1)) / 2
        return GeneralisationError(
            np.asarray(bias), np.asarray(np.trace(covariance, axis1=-2, axis2=-1).sum(axis=-1) / 2)
        )
    times = mean.shape[:-2]
    flat = mean.reshape(-1, *mean.shape[-2:]), covariance.reshape(-1, *covariance.shape[-3:])
    parts = [_expanded(cost, one, targets, spread) for one, spread in zip(*flat, strict=True)]
    bias, variance = (np.asarray(part).reshape(times) for part in zip(*parts, strict=True))
    return GeneralisationError(bias, variance)


class OptimalStopping(Result, eqx.Module):
    """When the mean test loss of gradient flow is least."""

    time: float
    """`inf` if training to the end is best."""
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
    on `points` times that are then refined twice about the best.

    **Arguments:** as for `predict`; `y_test` are targets to be told.

    Examples:
        >>> kernel = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]]
        >>> best = fw.learning.optimal_stopping(kernel=kernel, y_train=[1.0, 0.0], y_test=[0.5])
        >>> bool(best.error.total < best.at_the_end.total)
        True
    """
    kernels, _ = kernels_and_problem(net, x_train, y_train, x_test, kernel)
    values = eigvalsh(kernels.Theta_train)
    both = kernels.Theta, kernels.K
    slowest = values[values > 1e-12 * values[-1]][0]
    low, high = 1e-3 / float(values[-1]), 30 / float(slowest)
    end = generalisation_error(predict(kernel=both, y_train=y_train), y_test)
    best_time, best = math.inf, end
    for _ in range(3):
        times = np.geomspace(low, high, points)
        way = predict(kernel=both, y_train=y_train, time=times[-1], record=times)
        errors = generalisation_error(way.trajectory, y_test)
        at = int(np.argmin(errors.total[1:])) + 1
        if errors.total[at] < best.total:
            best_time, best = float(way.times[at]), jax.tree.map(lambda part, i=at: np.asarray(part[i]), errors)
        around = np.clip([at - 2, at], 0, points - 1)
        low, high = (float(times[i]) for i in around)
    if not math.isfinite(float(best.total)):
        raise DomainError("y_test", "targets with which the loss overflows", "smaller ones")
    return OptimalStopping(best_time, best, end)


def _of_each_sample(prediction: OutputMoments) -> Any:
    """The covariance of the outputs on each test input, at [..., beta, i, j]: all that a loss that is a sum over samples feels."""
    if prediction.whole_covariance is not None:
        return np.moveaxis(_values(prediction.whole_covariance).diagonal(axis1=-4, axis2=-3), -1, -3)
    alone: Any = prediction.sample_covariance
    every = alone.diagonal(axis1=-2, axis2=-1)[..., None, None] * np.eye(_values(prediction.mean).shape[-1])
    if prediction.wiring is None:
        return every
    return every + np.moveaxis(np.asarray(prediction.wiring).diagonal(axis1=-4, axis2=-3), -1, -3)


def _expanded(
    loss: Loss, mean: Float[Array, "N n"], y: Float[Array, "N n"], covariance: Float[Array, "N n n"]
) -> tuple[float, float]:
    def one(z: Array, target: Array) -> Array:
        return loss(z[None], target[None])

    curvature = jax.vmap(jax.hessian(one))(mean, y)
    return float(loss(mean, y)), float(np.sum(np.asarray(curvature) * covariance) / 2)


def _values(leaf: Any) -> np.ndarray:
    return np.asarray(leaf.mean if isinstance(leaf, Measurement) else leaf)
