"""The mean loss on inputs that were not seen, as a bias and a variance."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import ArgumentError, ShapeError
from ..._result import Result
from ..._validation import as_floats
from ...results import Measurement, OutputMoments
from ..losses import Loss, as_loss


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
