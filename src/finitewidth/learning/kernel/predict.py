"""`predict`: what networks say of new inputs after gradient-based training, at infinite width and to order 1/n."""

import math
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry, warn
from ..._errors import ArgumentError, DomainError, UnknownNameError
from ..._progress import ProgressBar
from ..._validation import as_count, as_seed
from ...networks import MLP, LayeredNetwork, as_layered
from ...results import Measurement, Prediction, Trajectory
from ..end_of_training.algorithm import ALGORITHMS as FIRST_ORDER_ALGORITHMS
from ..end_of_training.ensemble import check_memory, predict_to_first_order
from ..end_of_training.finite_prediction import FinitePrediction
from ..samples import outputs_of
from .cross_entropy import SampledLearner, end_of_cross_entropy, first_loss, first_outputs
from .learners import BatchLearner, EndLearner, Learner, SpectralLearner, check_stable, largest_eigenvalue
from .schedule import ALGORITHMS, Schedule, as_schedule
from .spectrum import DescentFilter, FlowFilter, spectrum
from .targets import as_kappa, as_probabilities, one_hot
from .train_test import TrainTestKernels, kernels_and_problem

_UNLEARNED = 1e-12  # the share of the first loss beyond which what is left at the end is no rounding


@overload
def predict(
    net: MLP,
    x_train: Any,
    y_train: Any,
    x_test: Any,
    algorithm: Literal["gradient_flow", "gradient_descent", "two_step"] = "gradient_flow",
    time: float = math.inf,
    loss: Literal["mse"] = "mse",
    *,
    order: Literal[1],
    rate: float | None = None,
    steps: int | None = None,
    record: Any = None,
    progress: bool | None = None,
) -> FinitePrediction: ...


@overload
def predict(
    net: LayeredNetwork | None = None,
    x_train: Any = None,
    y_train: Any = None,
    x_test: Any = None,
    algorithm: Literal["gradient_flow", "gradient_descent", "sgd", "newton"] = "gradient_flow",
    time: float = math.inf,
    loss: Literal["mse", "cross_entropy"] = "mse",
    order: int = 0,
    *,
    kernel: Any = None,
    rate: float | None = None,
    steps: int | None = None,
    kappa: Any = None,
    batch: int | Sequence[Sequence[int]] | None = None,
    seed: int = 0,
    samples: int = 256,
    record: Any = None,
    progress: bool | None = None,
) -> Prediction[Array]: ...


@entry()
def predict(
    net: LayeredNetwork | None = None,
    x_train: Any = None,
    y_train: Any = None,
    x_test: Any = None,
    algorithm: str = "gradient_flow",
    time: float = math.inf,
    loss: str = "mse",
    order: int = 0,
    *,
    kernel: Any = None,
    rate: float | None = None,
    steps: int | None = None,
    kappa: Any = None,
    batch: int | Sequence[Sequence[int]] | None = None,
    seed: int = 0,
    samples: int = 256,
    record: Any = None,
    progress: bool | None = None,
) -> Prediction[Array]:
    r"""Mean and covariance over initialisations of the outputs on `x_test` after training, at infinite width, PDLT chapter 10, or to
    order $1/n$, PDLT chapter ∞.

    Outputs learn linearly by the frozen tangent kernel from Gaussian first values, $z_{\mathcal B}(t) = z_{\mathcal B}
    - \Theta_{\mathcal{BA}}Q(t)(z_{\mathcal A}-y)$. At the end of training $Q = \widetilde\Theta^{-1}$ for every algorithm, PDLT (10.35),
    which gives the generalised posterior, PDLT (10.40)-(10.41). Where $\widetilde\Theta$ is singular, as for inputs that repeat,
    the end is the pseudo-inverse, where gradients lead.

    With `order=1` networks have a finite width $n$, PDLT (∞.160)-(∞.167) with their errata: tangent kernels differ from network
    to network and change as they learn, and outputs are wired together. The result has the mean in its parts (`mean_kernel`,
    `mean_fluctuation`, `mean_dntk`, `mean_ddntk_I`, `mean_ddntk_II`), `test_loss(y)`, and `trust`, how small what it is expanded in
    is; where that is not small a warning says so. It depends on the algorithm, and needs an activation whose slope does not jump.

    **Arguments:**

    - `net`, `x_train`, `y_train`, `x_test`: a network with its rates, inputs with one sample a row, targets (N_train, n_L).
    - `algorithm`: `"gradient_flow"` until `time`; `"gradient_descent"` of a finite `rate` below $2/\lambda_{\max}$, to the end unless a
      number of `steps` is given; `"sgd"` with `steps` and a `batch`; `"newton"`, one step, PDLT (10.30). At order 1 the first two, or
      `"two_step"`, two steps of second order, PDLT (∞.79).
    - `loss`: `"mse"`, $\frac12\sum(z-y)^2$, in closed form at all times; or `"cross_entropy"` of targets that are probabilities, or
      class numbers from 0 on. That one is closed at the end of training alone, where hard labels are out of reach
      (`learning.smooth_labels`). Before it, `samples` first outputs are drawn and followed, and every figure is a `Measurement` over
      them.
    - `order`: 0 or 1 in 1/n. Order 1 needs tensors of four samples, whose memory grows with the fourth power of N_train: some tens.
    - `kernel`: $(\Theta, K)$ on training inputs first and then test inputs, or one matrix for both, which is Bayes, instead of
      a network with inputs. A $K$ of zeros is a network whose outputs start at zero.
    - `kappa`: $\kappa^{ab}$ of the generalised loss $\frac12\sum\kappa^{ab}(z_a-y_a)(z_b-y_b)$, PDLT (10.22), which is a second-order
      update, PDLT (10.19)-(10.20); positive, (N_train, N_train). The loss of the trajectory is then this one.
    - `batch`: how many samples a step of `"sgd"` sees, in epochs shuffled by `seed`; or the samples of each step.
    - `record`: the times (of gradient flow) or steps at which the trajectory is kept, beside the first and the last.
    - `progress`: a progress bar over the recorded moments; by default for long runs in a terminal.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> prediction = fw.predict(net, x_train=[[1.0, 0.5]], y_train=[[1.0]], x_test=[[0.3, -1.0]])
        >>> prediction.mean.round(4).tolist()
        [[0.4405]]
    """
    first_order = as_count(order, "order", at_least=0) == 1
    known = FIRST_ORDER_ALGORITHMS if first_order else ALGORITHMS
    if first_order and algorithm in ALGORITHMS and algorithm not in known:
        want = f"one of {', '.join(known)}; or order=0, or `train`"
        raise DomainError("algorithm", f"{algorithm!r} at order 1", want)
    if algorithm not in known:
        raise UnknownNameError("algorithm", algorithm, known)
    if loss not in ("mse", "cross_entropy"):
        raise UnknownNameError("loss", loss, ("mse", "cross_entropy"))
    if order > 1:
        raise DomainError("order", order, "0 or 1")
    if first_order:
        _check_first_order(net, loss, x_train, x_test, kernel=kernel, kappa=kappa, batch=batch)
    y_train = one_hot(y_train, loss, None if net is None else outputs_of(as_layered(net)))
    kernels, problem = kernels_and_problem(net, x_train, y_train, x_test, kernel)
    if first_order:
        assert isinstance(net, MLP)
        return predict_to_first_order(net, kernels, problem, algorithm, rate, steps, time, record, progress)
    y = np.asarray(problem.y_train)
    schedule = as_schedule(algorithm, loss, time, rate, steps, batch, as_seed(seed), record, len(y))
    drawn = as_count(samples, "samples", at_least=2)
    metric = as_kappa(kappa, algorithm, loss, len(y))
    if loss == "mse":
        learner = _learner(kernels, schedule, metric)
        trajectory = _linear_trajectory(learner, y, schedule, progress)
        _tell_what_is_not_learned(trajectory, schedule)
    else:
        targets = as_probabilities(y)
        trajectory = _cross_entropy_trajectory(kernels, targets, schedule, drawn, seed)
    last = {
        name: _last(getattr(trajectory, name)) for name in ("mean", "sample_covariance", "wiring", "whole_covariance")
    }
    return Prediction(**last, trajectory=trajectory, problem=problem, training=schedule.training, net=net, order=0)


def _check_first_order(net: Any, loss: str, x_train: Any, x_test: Any, **unwanted: Any) -> None:
    """What order 1 does not know, and what would take too long: before any work."""
    if loss != "mse":
        raise DomainError("loss", f"{loss} at order 1", "mse")
    for name, given in unwanted.items():
        if given is not None:
            raise ArgumentError(
                name, "a value at order 1", "none: corrections in 1/n need a network, and know nothing of it"
            )
    if net is not None and not isinstance(as_layered(net), MLP):
        raise ArgumentError("net", f"a {type(net).__name__} at order 1", "an MLP, or order=0")
    if net is not None and np.ndim(x_train) == np.ndim(x_test) == 2:
        check_memory(net, len(x_train), len(x_test))


def _learner(kernels: TrainTestKernels, schedule: Schedule, kappa: Float[np.ndarray, "N N"] | None) -> Learner:
    theta, rate, only_ends = kernels.Theta_train, schedule.training.rate, len(schedule.times) == 2
    if schedule.training.algorithm == "newton":
        return EndLearner(kernels)
    if schedule.training.algorithm == "sgd":
        for batch in sorted(set(schedule.batches)):
            check_stable(
                largest_eigenvalue(theta[np.ix_(batch, batch)]), schedule.rate, f"the batch {list(batch)}"[:60]
            )
        return BatchLearner(kernels, schedule.rate, schedule.batches)
    if rate is None and math.isinf(schedule.times[-1]) and only_ends and kappa is None:
        return EndLearner(kernels)
    seen = spectrum(theta, kappa)
    if rate is None:
        return SpectralLearner(kernels, seen, FlowFilter())
    check_stable(float(seen.values[-1]), rate, "the training inputs")
    return SpectralLearner(kernels, seen, DescentFilter(rate))


def _linear_trajectory(
    learner: Learner, y: Float[np.ndarray, "N n"], schedule: Schedule, progress: bool | None
) -> Trajectory[Array]:
    means, covariances, losses = [], [], []
    with ProgressBar(len(schedule.times), progress, things="moments") as bar:
        for done, (mean, covariance, loss) in enumerate(learner.moments(y, schedule.times), start=1):
            for kept, value in ((means, mean), (covariances, covariance), (losses, loss)):
                kept.append(value)
            bar.advance_to(done)
    times = np.asarray(schedule.times)
    return Trajectory(np.stack(means), np.stack(covariances), times=times, loss=np.asarray(losses))


def _cross_entropy_trajectory(
    kernels: TrainTestKernels, targets: Float[np.ndarray, "N n"], schedule: Schedule, samples: int, seed: int
) -> Trajectory[Any]:
    times, training, outputs = np.asarray(schedule.times), schedule.training, targets.shape[1]
    if math.isinf(times[-1]):
        if training.rate is not None:  # the curvature of cross-entropy is at most 1/2
            check_stable(largest_eigenvalue(kernels.Theta_train), training.rate, "the training inputs", most=4.0)
        if (targets == 0).any():
            raise DomainError(
                "y_train",
                "probabilities of zero, out of reach",
                "those of `learning.smooth_labels`, or a finite `time`",
            )
        mean, covariance, wiring = end_of_cross_entropy(kernels, targets)
        entropy = -float(np.sum(targets * np.log(targets)))
        return Trajectory(
            np.stack([np.zeros_like(mean), mean]),
            np.stack([kernels.K_test, covariance]),
            np.stack([np.zeros_like(wiring), wiring]),
            times=times,
            loss=np.asarray([first_loss(np.diagonal(kernels.K_train), outputs), entropy]),
        )
    learner = SampledLearner(kernels, targets, first_outputs(kernels.K, outputs, samples, seed))
    if training.rate is None:
        found = list(learner.flow(list(schedule.times)))
    else:
        found = list(learner.descend(training.rate, schedule.steps, training.batches))
    whole = _stacked([each.covariance() for each in found])
    means, losses = (_stacked([getattr(each, name)() for each in found]) for name in ("mean", "loss"))
    return Trajectory(means, whole_covariance=whole, times=times, loss=losses)


def _tell_what_is_not_learned(trajectory: Trajectory[Array], schedule: Schedule) -> None:
    ends = math.isinf(schedule.times[-1]) or schedule.training.algorithm == "newton"
    if ends and trajectory.loss[-1] > _UNLEARNED * trajectory.loss[0]:
        warn(
            f"The tangent kernel of the training inputs is singular, and a loss of {trajectory.loss[-1]:.3g} is left at the end of "
            "training: inputs that are alike have targets that are not, or outputs that training cannot move."
        )


def _last(leaf: Any) -> Any:
    return None if leaf is None else leaf[-1]


def _stacked(found: Sequence[Measurement]) -> Measurement:
    return Measurement(np.stack([each.mean for each in found]), np.stack([each.standard_error for each in found]))
