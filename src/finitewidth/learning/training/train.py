"""`train`: what real networks do when they are trained."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import equinox as eqx
import numpy as np

from ..._entry import entry
from ..._errors import UnknownNameError
from ..._memory import check_memory
from ..._result import Result
from ..._validation import as_count, as_ensemble, as_flag
from ...networks import MLP
from ...networks.shaped import BlockNetwork
from ...results import Ensemble, Measurement, OutputMoments, Prediction, Trajectory
from ...runs.lanes import lane_size
from ...runs.run import run
from ...runs.store import empty_store, put
from .control import controlled_moments
from .dense import dense_numbers, train_dense
from .lazy import train_lazy, warn_of_memory
from .outcome import Outcome, measured_covariance, measured_mean
from .plan import Plan, as_trained, plan_training

METHODS = ("dense", "lazy")


class LazyWeights(Result, eqx.Module):
    """How lazy weights have fared, in the worst of all networks."""

    worst_overlap: float = eqx.field(static=True)
    """The largest overlap of two directions that should be orthogonal: answers have their law as long as it is rounding."""
    directions: int = eqx.field(static=True)
    """The most that one matrix holds, asked from either side."""


class TrainedNetworks(Prediction[Measurement]):
    """The result of `train`: a `Prediction` whose fields are `Measurement`s over networks."""

    losses: Measurement = eqx.field(kw_only=True)
    """The loss of all training samples before each step and at the end; shape (steps + 1,)."""
    lazy_weights: LazyWeights | None = eqx.field(kw_only=True, default=None)
    """`None` where weights were stored."""
    controlled: OutputMoments[Measurement] | None = eqx.field(kw_only=True, default=None)
    """Mean and covariance after the last step with control variates, whose errors are much smaller; `None` unless asked for."""

    @property
    def loss(self) -> Measurement:
        """The loss of all training samples after every number of steps, shape (steps + 1,); `trajectory.loss` is that of the
        recorded ones."""
        return self.losses


@entry()
def train(
    net: MLP | BlockNetwork,
    x_train: Any,
    y_train: Any,
    x_test: Any,
    networks: int = 64,
    rate: float | None = None,
    steps: int = 100,
    method: str = "dense",
    loss: str = "mse",
    batch: int | Sequence[Sequence[int]] | None = None,
    seed: int = 0,
    *,
    record: Any = None,
    chunk_size: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    control: bool = False,
) -> TrainedNetworks:
    r"""Mean and covariance over real networks of their outputs on `x_test` while they are trained by gradient descent.

    Weights and biases move by the rates of `net`, PDLT (7.11), (8.6):
    $\theta_\mu \leftarrow \theta_\mu - \eta\lambda_\mu\,\partial\mathcal L/\partial\theta_\mu$ with
    $\lambda_b^{(\ell)}$ and $\lambda_W^{(\ell)}/n_{\ell-1}$. `predict` has the limit of infinite width, in the same fields.

    **Arguments:**

    - `net`, `x_train`, `y_train`, `x_test`: a network with its rates, inputs with one sample a row, targets (N_train, n_L). A network of
      `ShapedMLP`, `block.at(width, depth)`, is trained as `block.as_mlp` for these data.
    - `networks`, `seed`: how many networks to draw and train; network $i$ of a seed and method is always the same.
    - `rate`: $\eta$. By default $1/\lambda_{\max}$ of the frozen tangent kernel of `x_train`, half the rate at which networks of
      infinite width diverge under squared errors, and a quarter of it under cross-entropy.
    - `steps`: how many steps.
    - `method`: `"dense"` stores all weights. `"lazy"` stores only their products with what is asked, which is exact in law as well and
      needs memory of order width times number of questions, nothing of width times width: for networks of thousands to hundreds
      of thousands of neurons a layer. Its cost grows with the square of the number of *different* questions, about
      `steps` times the number of samples: take few samples.
    - `loss`: `"mse"`, $\frac12\sum(z-y)^2$, or `"cross_entropy"` of targets that are probabilities, or class numbers from 0 on;
      sums over samples.
    - `batch`: how many samples a step sees, in epochs shuffled by `seed`; or the samples of each step, the same for all networks.
      All samples unless given. The loss that is kept is always that of all of them.
    - `record`: the steps at which outputs on `x_test` are kept, beside the first and the last. Lazy weights pay for each.
    - `chunk_size`, `progress`, `checkpoint`: as in `simulate`; none of them changes a result.
    - `control`: also measure with control variates, `.controlled`: from each network is taken what its own first outputs and tangent
      kernel say it would learn, of which mean and covariance are known. Standard errors are then of order $1/n$, and corrections of
      that order are seen with few networks.

    **Returns:** a `Prediction` of `Measurement`s, with `.mean`, `.covariance`, `.trajectory`, and `.loss` after each number of
    steps. `.lazy_weights` says how orthogonal the directions have stayed and how many there were.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> trained = fw.train(net, [[1.0, 0.5]], [[1.0]], [[0.3, -1.0]], networks=2, steps=2)
        >>> trained.loss.mean.shape, trained.mean.mean.shape
        ((3,), (1, 1))
    """
    networks, seed = as_ensemble(networks, seed, at_least=2)  # one network has no standard error
    if not isinstance(method, str) or method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    if chunk_size is not None:
        chunk_size = as_count(chunk_size, "chunk_size")
    wants_control, net = as_flag(control, "control"), as_trained(net, x_train, y_train)
    plan, problem = plan_training(net, x_train, y_train, x_test, rate, steps, loss, batch, seed, record, wants_control)
    lane = lane_size(dense_numbers(plan), networks) if method == "dense" else 1
    _check_memory(plan, networks, method, lane)

    def advance(store: Outcome, first: int, *tell: Callable[[int], None]) -> Outcome:
        found = train_dense(plan, seed, first, lane) if method == "dense" else train_lazy(plan, seed, first, *tell)
        return put(store, first, found)

    outcome = run(
        advance,
        empty_store(_one_lane(plan), networks),
        total=networks,
        lane=lane,
        problem=(net, problem, plan.training, plan.steps, networks, seed, method, lane, wants_control),
        chunk_size=lane if chunk_size is None else chunk_size,
        checkpoint=checkpoint,
        progress=progress,
        things="networks" if method == "dense" else "steps",
        parts=1 if method == "dense" else plan.steps[-1] + 1,
        check=partial(_check_finite, plan=plan),
    )
    trajectory = _trajectory(plan, outcome)
    lazy = LazyWeights(float(outcome.worst_overlap.max()), int(outcome.directions.max()))
    return TrainedNetworks(
        trajectory.mean[-1],
        whole_covariance=trajectory.covariance[-1],
        trajectory=trajectory,
        problem=problem,
        training=plan.training,
        net=net,
        ensemble=Ensemble(networks, seed, method),
        losses=measured_mean(np.asarray(outcome.losses)),
        lazy_weights=lazy if method == "lazy" else None,
        controlled=controlled_moments(plan, outcome) if wants_control else None,
    )


def _one_lane(plan: Plan) -> Outcome:
    kept = (len(plan.steps), len(plan.x_test), plan.net.widths[-1])
    samples, n = (len(plan.x_train) + len(plan.x_test)) * plan.controlled, plan.net.widths[-1]
    first = np.zeros((1, samples, n)), np.zeros((1, n, n, samples, samples))
    return Outcome(np.zeros((1, *kept)), np.zeros((1, plan.steps[-1] + 1)), np.zeros(1), np.zeros(1, int), *first)


def _trajectory(plan: Plan, outcome: Outcome) -> Trajectory[Measurement]:
    outputs, losses = np.asarray(outcome.outputs), np.asarray(outcome.losses)
    return Trajectory(
        measured_mean(outputs),
        whole_covariance=measured_covariance(outputs),
        times=plan.rate * np.asarray(plan.steps, dtype=float),
        loss=measured_mean(losses[:, list(plan.steps)]),
    )


def _check_memory(plan: Plan, networks: int, method: str, lane: int) -> None:
    kept, outputs = len(plan.steps), len(plan.x_test) * plan.net.widths[-1]
    results = 8.0 * (networks * (kept * outputs + plan.steps[-1]) + 4 * kept * outputs**2)
    check_memory(results, "x_test", f"{len(plan.x_test)} test inputs", "fewer test inputs, recorded steps or networks")
    if method == "dense":
        what = f"all weights of {plan.net!r}"
        check_memory(8.0 * lane * dense_numbers(plan) + results, "net", what, "smaller widths, or method='lazy'")
    else:
        warn_of_memory(plan)


def _check_finite(outcome: Outcome, plan: Plan) -> None:
    finite = np.isfinite(outcome.losses)
    if not finite.all():
        network = int(np.argmin(finite.all(axis=1)))
        raise plan.diverged(network, int(np.argmin(finite[network])))
