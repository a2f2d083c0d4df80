"""What is trained, how, and what is kept: the arguments of `train`, checked against each other."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..._entry import warn
from ..._errors import ArgumentError, BlowUpError, DomainError, ShapeError, UnknownNameError
from ..._validation import as_count, as_number
from ...kernels import frozen_ntk
from ...networks import MLP, as_mlp
from ...networks.shaped import BlockNetwork, ShapedMLP
from ...results import LearningProblem, Training
from ..kernel.schedule import as_schedule
from ..kernel.targets import as_probabilities, one_hot
from ..kernel.train_test import as_targets
from ..samples import as_samples

CURVATURE = {"mse": 1.0, "cross_entropy": 0.5}
"""The largest second derivative of a loss by the outputs of one sample."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that decides what one network learns, but its own draw."""

    net: MLP
    """As it was described."""
    drawn: MLP
    """With no more inputs than there are samples, as those below; see `fewer_features`."""
    x_train: Float[np.ndarray, "N_train n_0"]
    y_train: Float[np.ndarray, "N_train n_L"]
    x_test: Float[np.ndarray, "N_test n_0"]
    training: Training
    steps: tuple[int, ...]
    """The numbers of steps after which outputs are kept: the first is 0, the last all of them."""
    stable: float
    """The rate from which on networks of infinite width diverge."""
    controlled: bool = False
    """Whether first outputs and tangent kernels are kept, for control variates."""

    @property
    def seen(self) -> list[np.ndarray]:
        """The numbers of the samples that each step sees."""
        every = np.arange(len(self.x_train))
        batches = self.training.batches
        return [every] * self.steps[-1] if batches is None else [np.asarray(batch) for batch in batches]

    @property
    def rate(self) -> float:
        r"""$\eta$."""
        assert self.training.rate is not None
        return self.training.rate

    def diverged(self, network: int, step: int) -> BlowUpError:
        """What is said of a network that has left the finite numbers."""
        return BlowUpError(
            f"Network {network} of {self.net!r} leaves the finite numbers after {step} steps at rate {self.rate:.3g}: take a rate "
            f"well below {self.stable:.3g}, from where on very wide networks diverge, or leave `rate` out."
        )


def plan_training(
    net: Any,
    x_train: Any,
    y_train: Any,
    x_test: Any,
    rate: Any,
    steps: Any,
    loss: Any,
    batch: Any,
    seed: int,
    record: Any,
    controlled: bool = False,
) -> tuple[Plan, LearningProblem]:
    """The arguments of `train`, checked."""
    widths = as_mlp(net).widths
    if not isinstance(loss, str) or loss not in CURVATURE:
        raise UnknownNameError("loss", loss, CURVATURE)
    train, test = (as_samples(net, x, name) for x, name in ((x_train, "x_train"), (x_test, "x_test")))
    targets = as_targets(one_hot(y_train, loss, widths[-1]), len(train), widths[-1])
    if loss == "cross_entropy":
        targets = as_probabilities(targets)
    largest = float(np.linalg.eigvalsh(np.asarray(frozen_ntk(net, train)))[-1])
    if not largest > 0:
        raise DomainError(
            "net", "learning rates that leave the training outputs as they are", "lambda_b or lambda_W > 0"
        )
    eta = 1 / largest if rate is None else as_number(rate, "rate", low=0.0)
    stable = 2 / (CURVATURE[loss] * largest)
    if eta >= stable:
        warn(
            f"The rate {eta:.3g} is not below {stable:.3g}, from where on very wide networks diverge under {loss}; "
            f"1/lambda_max of their tangent kernel, the default, is {1 / largest:.3g}."
        )
    if controlled and (batch is not None or loss != "mse"):
        raise ArgumentError(
            "control", f"True with {loss if batch is None else 'batches'}", "mse of all training inputs at every step"
        )
    algorithm = "gradient_descent" if batch is None else "sgd"
    schedule = as_schedule(algorithm, loss, np.inf, eta, as_count(steps, "steps"), batch, seed, record, len(train))
    smaller, inputs = fewer_features(net, np.concatenate([train, test]))
    plan = Plan(
        net,
        smaller,
        inputs[: len(train)],
        targets,
        inputs[len(train) :],
        schedule.training,
        tuple(schedule.steps),
        stable,
        controlled,
    )
    return plan, LearningProblem(targets, train, test)


def as_trained(net: Any, x_train: Any, y_train: Any) -> MLP:
    """The network as an `MLP`; that of a shaped block, `block.at(width, depth)`, for these data."""
    if not isinstance(net, BlockNetwork):
        return as_mlp(net)
    if not isinstance(net.block, ShapedMLP):
        raise ArgumentError("net", f"a network of {type(net.block).__name__}", "an MLP, or a network of ShapedMLP")
    inputs, targets = np.shape(x_train), np.shape(y_train)
    if len(inputs) != 2 or inputs[1] == 0:
        raise ShapeError("x_train", f"shape {inputs}", "one sample a row")
    return net.block.as_mlp(net.width, net.depth, inputs[1], targets[1] if len(targets) == 2 else 1)


def fewer_features(net: MLP, x: Float[np.ndarray, "N n_0"]) -> tuple[MLP, Float[np.ndarray, "N m"]]:
    r"""The network on inputs that are turned into the space they span, and no longer than they are many.

    Random weights and gradient descent alike see inputs through their products $x_\alpha\cdot x_\beta/n_0$ only, so the law of all that
    is learned stays as it is.
    """
    samples, features = x.shape
    if features <= samples:
        return net, x
    turned = np.linalg.qr(x.T)[1].T
    return net.replace(widths=(samples, *net.widths[1:])), np.sqrt(samples / features) * turned
