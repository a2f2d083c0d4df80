"""What networks say of inputs after training: mean and covariance over initialisations, one type for theory and measurement."""

from typing import Any, Generic

import equinox as eqx
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._errors import ArgumentError, DomainError
from .._result import Result
from ..networks import LayeredNetwork
from .flow import Ensemble
from .measurement import Leaf, Measurement, on_leaf


class OutputMoments(Result, eqx.Module, Generic[Leaf]):
    r"""Mean and covariance over networks of the outputs $z_{i;\beta}$ on test inputs; times, if any, along the first axis.

    The covariance is $\mathrm{Cov}[z_{i;\beta_1}, z_{j;\beta_2}] = \delta_{ij}S_{\beta_1\beta_2} + W_{\beta_1\beta_2ij}$: what every output
    has alone, `sample_covariance`, and what binds outputs together, `wiring`, which is zero at infinite width. Where no such
    split is known, as in a measurement of trained networks, it is kept as a whole; a measured posterior has both, each with its errors.
    """

    mean: Leaf
    r"""$E[z_{i;\beta}]$ at [beta, i]; shape (*times, N_test, n_L)."""
    sample_covariance: Leaf | None = None
    r"""$S_{\beta_1\beta_2}$, the same for all outputs; shape (*times, N_test, N_test)."""
    wiring: Leaf | None = None
    r"""$W$ at [beta_1, beta_2, i, j]; shape (*times, N_test, N_test, n_L, n_L); `None` if there is none."""
    whole_covariance: Leaf | None = None
    r"""The covariance at [beta_1, beta_2, i, j] where it was measured as a whole; shape (*times, N_test, N_test, n_L, n_L)."""

    def __check_init__(self) -> None:
        if self.sample_covariance is None and self.whole_covariance is None:
            raise ArgumentError("covariance", "neither of its two forms", "split, or whole, or both in a measurement")

    @property
    def covariance(self) -> Leaf:
        r"""$\mathrm{Cov}[z_{i;\beta_1}, z_{j;\beta_2}]$ at [beta_1, beta_2, i, j], all of it; shape (*times, N_test, N_test, n_L, n_L)."""
        if self.whole_covariance is not None:
            return self.whole_covariance
        alone: Any = self.sample_covariance
        every = alone[..., None, None] * np.eye(_outputs(self.mean))
        return every if self.wiring is None else every + self.wiring

    @property
    def variance(self) -> Leaf:
        r"""$\mathrm{Var}[z_{i;\beta}]$ at [beta, i], without the rest of the covariance; shape (*times, N_test, n_L)."""
        if self.whole_covariance is not None:
            return on_leaf(_same_sample_and_output, self.whole_covariance)
        alone: Any = self.sample_covariance
        wiring: Any = self.wiring
        every: Any = np.repeat(alone.diagonal(axis1=-2, axis2=-1)[..., None], _outputs(self.mean), axis=-1)
        return every if wiring is None else every + _same_sample_and_output(wiring)

    @property
    def standard_deviation(self) -> Leaf:
        """The root of `variance`; the standard error of a measured one follows to first order."""
        variance: Any = self.variance
        if not isinstance(variance, Measurement):
            return _root(variance)
        root = _root(variance.mean)
        error = np.divide(variance.standard_error, 2 * root, out=np.zeros_like(root), where=root > 0)
        found: Any = Measurement(root, error, variance.effective_networks)
        return found


class Trajectory(OutputMoments[Leaf], Generic[Leaf]):
    """The outputs on test inputs while networks are trained, and the loss of training; times along the first axis."""

    times: Float[Array, " times"] = eqx.field(kw_only=True)
    r"""$\eta t$: the learning rate times the number of steps, which is the time of gradient flow; `inf` at the end of training.
    For algorithms without a rate, the number of steps."""
    loss: Leaf = eqx.field(kw_only=True)
    r"""$E[\mathcal L_{\mathcal A}]$ over networks, a sum over training samples; shape (times,)."""


class LearningProblem(Result, eqx.Module):
    """What was learnt, and where it was asked. There are no inputs where kernels were given instead."""

    y_train: Float[Array, "N_train n_L"]
    x_train: Float[Array, "N_train n_0"] | None = None
    x_test: Float[Array, "N_test n_0"] | None = None


class Training(Result, eqx.Module):
    """How it was learnt."""

    algorithm: str = eqx.field(static=True)
    loss: str = eqx.field(static=True)
    rate: float | None = eqx.field(static=True, default=None)
    steps: int | None = eqx.field(static=True, default=None)
    """`None` where time is continuous."""
    time: float = eqx.field(static=True, default=float("inf"))
    """The last of the trajectory's times; `inf` for networks that were trained to the end."""
    batches: tuple[tuple[int, ...], ...] | None = eqx.field(static=True, default=None)
    """The samples that each step saw; `None` if all."""


class Prediction(OutputMoments[Leaf], Generic[Leaf]):
    """Outputs on test inputs after training, over initialisations.

    The result of `predict`, whose fields are arrays, and of `train`, whose fields are `Measurement`s. A field means the same in
    both.
    """

    trajectory: Trajectory[Leaf] = eqx.field(kw_only=True)
    """The way to the end: the first and the last moment, and those that were asked for."""
    problem: LearningProblem = eqx.field(kw_only=True)
    training: Training = eqx.field(kw_only=True)
    net: LayeredNetwork | None = eqx.field(kw_only=True, default=None)
    """`None` where kernels were given instead of a network."""
    order: int | None = eqx.field(kw_only=True, static=True, default=None)
    """The order in 1/n of theory; `None` for a measurement."""
    ensemble: Ensemble | None = eqx.field(kw_only=True, default=None)
    """The networks behind a measurement; `None` for theory."""

    @property
    def times(self) -> Float[Array, " times"]:
        """See `Trajectory`."""
        return self.trajectory.times

    @property
    def loss(self) -> Leaf:
        """See `Trajectory`."""
        return self.trajectory.loss

    def __repr__(self) -> str:
        samples, outputs = _values(self.mean).shape[-2:]
        who = "of given kernels" if self.net is None else f"of {self.net!r}"
        how = f"{self.training.algorithm}, {self.training.loss} to time {self.training.time:g}"
        by = f"order {self.order}" if self.ensemble is None else f"{self.ensemble.networks} networks"
        return f"Prediction({by}, {samples} test inputs, {outputs} outputs, {how}, {who})"


def as_prediction(prediction: Any, argument: str = "prediction") -> "Prediction[Array]":
    """`prediction`, refused unless it is what `predict` returns.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> prediction = fw.predict(net, x_train=[[1.0, 0.5]], y_train=[[1.0]], x_test=[[0.3, -1.0]])
        >>> fw.results.as_prediction(prediction) is prediction
        True
    """
    if not isinstance(prediction, Prediction):
        raise ArgumentError(argument, type(prediction).__name__, "a Prediction, such as `predict(net, ...)` gives")
    if prediction.ensemble is not None:
        raise DomainError(argument, "a measured prediction", "one of theory, such as `predict(net, ...)` gives")
    return prediction


def _values(leaf: Any) -> Array:
    return leaf.mean if isinstance(leaf, Measurement) else leaf


def _outputs(mean: Any) -> int:
    return _values(mean).shape[-1]


def _same_sample_and_output(covariance: Array) -> Array:
    return covariance.diagonal(axis1=-4, axis2=-3).diagonal(axis1=-3, axis2=-2)


def _root(variance: Any) -> Any:
    """Of a variance that rounding may have left below zero."""
    return np.sqrt(np.maximum(variance, 0.0))
