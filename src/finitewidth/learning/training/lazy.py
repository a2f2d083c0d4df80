r"""Networks wider than any matrix that fits, trained one by one.

Every step asks each matrix between hidden layers for as many products as there are samples, forwards and backwards. A product after
$k$ others costs $O(nk)$ time, and a direction not asked before $16n$ bytes: memory grows as $n$ times the number of new directions, time as
its square. Signals that move slowly soon lie in the span of what was asked, to rounding, and then add nothing.
"""

from collections.abc import Callable
from functools import partial

import jax
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import warn
from ..._errors import DomainError
from ..._memory import available_memory, gigabytes
from ..losses import LOSSES
from .growing_rows import BLOCK
from .one_network import LearningNetwork
from .outcome import Outcome
from .plan import Plan


def train_lazy(plan: Plan, seed: int, number: int, tell: Callable[[int], None] = lambda _: None) -> Outcome:
    """Network `number` of a seed, as a lane of one. `tell` is told how many forward passes, one more than there are steps, are done."""
    network = LearningNetwork(plan.drawn, np.random.default_rng([seed, number]))
    outputs, losses, n = [], [], plan.net.widths[-1]
    first_outputs, first_kernel = np.zeros((0, n)), np.zeros((n, n, 0, 0))
    if plan.controlled:
        first_outputs, first_kernel = network.tangent_kernel(np.concatenate([plan.x_train, plan.x_test]))
    for step, batch in enumerate([*plan.seen, None]):
        _check_room(plan, network, step)
        try:
            passed = network.forward(plan.x_train)
            loss, error = _loss_and_error(passed.outputs, plan.y_train, plan.training.loss)
            losses.append(float(loss))
            if step in plan.steps:
                outputs.append(network.forward(plan.x_test).outputs)
            if batch is not None:
                network.descend(passed, np.asarray(error)[batch], plan.rate, batch)
        except FloatingPointError:
            raise plan.diverged(number, step) from None
        if not np.isfinite(losses[-1]):
            raise plan.diverged(number, step)
        tell(step + 1)
    sides = [(weights.right.directions, weights.left.directions) for weights in network.lazy_weights]
    for basis in (basis for pair in sides for basis in pair):
        basis.measure()
    return Outcome(
        np.stack(outputs)[None],
        np.asarray(losses)[None],
        np.asarray([max((basis.worst_overlap for pair in sides for basis in pair), default=0.0)]),
        np.asarray([max((len(right) + len(left) for right, left in sides), default=0)]),
        first_outputs[None],
        first_kernel[None],
    )


def most_lazy_bytes(plan: Plan) -> float:
    """What lazy weights take if no direction ever repeats: two vectors for each, one of either side of the matrix."""
    forwards = (plan.steps[-1] + 1) * len(plan.x_train) + len(plan.steps) * len(plan.x_test)
    backwards = sum(len(batch) for batch in plan.seen)
    pairs = zip(plan.net.widths[1:-2], plan.net.widths[2:-1], strict=True)
    return 8.0 * sum((n + m) * (min(forwards, m) + min(backwards, n)) for m, n in pairs)


def warn_of_memory(plan: Plan) -> None:
    """Says so if the run fits only where directions repeat."""
    most, there = most_lazy_bytes(plan), available_memory()
    if most > there:
        warn(
            f"Lazy training of {plan.net!r} takes up to {gigabytes(most)} of memory where {gigabytes(there)} are available. It fits only "
            "if directions repeat, as they do while signals move slowly, and stops at the step at which it does not."
        )


def _check_room(plan: Plan, network: LearningNetwork, step: int) -> None:
    """`DomainError` if the directions of one more step may not fit."""
    there = available_memory()
    asked = 2 * len(plan.x_train) + len(plan.x_test)
    blocks = asked // BLOCK + 2  # begun on either side
    numbers = sum(
        blocks * BLOCK * (weights.right.images.length + weights.left.images.length) for weights in network.lazy_weights
    )
    vectors = 8 * asked * max(plan.drawn.widths)
    if 8 * (numbers + vectors) > there:
        held = sum(
            (len(weights.right.directions) + len(weights.left.directions))
            * (weights.right.images.length + weights.left.images.length)
            for weights in network.lazy_weights
        )
        raise DomainError(
            "steps",
            f"{plan.steps[-1]}, of which {step} fit: the directions asked of {plan.net!r} hold {gigabytes(8 * held)}, one more step "
            f"may take {gigabytes(8 * (numbers + vectors))}, and {gigabytes(there)} are available",
            "fewer steps, fewer samples or smaller widths",
        )


@partial(jax.jit, static_argnames="loss")
def _loss_and_error(
    z: Float[Array, "N n_L"], y: Float[Array, "N n_L"], loss: str
) -> tuple[Float[Array, ""], Float[Array, "N n_L"]]:
    return jax.value_and_grad(LOSSES[loss])(z, y)
