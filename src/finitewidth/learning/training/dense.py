"""Networks with all their weights, trained side by side."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.random import fold_in
from jaxtyping import Float, Int, Key

from ..._arrays import Array
from ..._random import key_of
from ...ensembles.forward_backward import Forward, RandomNetwork, backward, draw, forward, pull_back
from ...ensembles.gaussian_matrix import DenseGaussian
from ...ensembles.tangent_samplers import kernel_from_gradients
from ...networks import MLP
from ..losses import LOSSES
from .outcome import Outcome
from .plan import Plan


def train_dense(plan: Plan, seed: int, first: int, lane: int) -> Outcome:
    """Networks number `first`, `first + 1`, ..., so many as `lane`."""
    seen = np.zeros((plan.steps[-1], len(plan.x_train)))
    for step, batch in enumerate(plan.seen):
        seen[step, batch] = 1.0
    data = _Data(plan.x_train, plan.y_train, plan.x_test, seen, np.asarray(plan.steps))
    return _lane(plan.drawn, data, plan.rate, key_of(seed), first, plan.training.loss, lane, plan.controlled)


def dense_numbers(plan: Plan) -> int:
    """Numbers that one network takes: its weights, their gradient and their next value; vectors of every layer."""
    samples = 3 * len(plan.x_train) + len(plan.x_test)
    return 3 * plan.drawn.parameters + 2 * samples * sum(plan.drawn.widths)


class _Data(eqx.Module):
    x_train: Float[Array, "N n_0"]
    y_train: Float[Array, "N n_L"]
    x_test: Float[Array, "N_test n_0"]
    seen: Float[Array, "steps N"]
    """One for samples in the batch of a step, else zero."""
    recorded: Int[Array, " times"]


@partial(jax.jit, static_argnames=("loss", "lane", "controlled"))
def _lane(
    net: MLP,
    data: _Data,
    rate: float | Array,
    key: Key[Array, ""],
    first: int | Array,
    loss: str,
    lane: int,
    controlled: bool,
) -> Outcome:
    def one(number: Array) -> Outcome:
        network = draw(net, fold_in(key, number), DenseGaussian)
        outcome = _train(network, data, rate, loss)
        if not controlled:
            return outcome
        passed, _ = forward(network, jnp.concatenate([data.x_train, data.x_test]))
        gradients, _ = backward(network, passed, tuple(range(net.widths[-1])))
        kernel = kernel_from_gradients(net, passed, gradients)
        return outcome._replace(first_outputs=passed.preactivations[-1][-1], first_kernel=kernel)

    return jax.vmap(one)(first + jnp.arange(lane))


def _train(network: RandomNetwork, data: _Data, rate: float | Array, loss: str) -> Outcome:
    def outputs(network: RandomNetwork, x: Array) -> tuple[Array, Forward]:
        passed, _ = forward(network, x)
        return passed.preactivations[-1][-1], passed

    def step(number: Array, state: tuple[RandomNetwork, jax.Array]) -> tuple[RandomNetwork, jax.Array]:
        network, losses = state
        z, passed = outputs(network, data.x_train)
        value, error = jax.value_and_grad(LOSSES[loss])(z, data.y_train)
        moved = descended(network, passed, data.x_train, error * data.seen[number][:, None], rate)
        return moved, losses.at[number].set(value)

    def interval(
        state: tuple[RandomNetwork, jax.Array], bounds: tuple[Array, Array]
    ) -> tuple[tuple[RandomNetwork, jax.Array], Array]:
        state = lax.fori_loop(*bounds, step, state)
        return state, outputs(state[0], data.x_test)[0]

    start = (network, jnp.zeros(len(data.seen) + 1))
    intervals = (jnp.concatenate([jnp.zeros(1, int), data.recorded[:-1]]), data.recorded)
    (network, losses), kept = lax.scan(interval, start, intervals)
    last = LOSSES[loss](outputs(network, data.x_train)[0], data.y_train)
    outputs_of_none, n = jnp.zeros((0, data.y_train.shape[1])), data.y_train.shape[1]
    none = outputs_of_none, jnp.zeros((n, n, 0, 0))
    return Outcome(kept, losses.at[-1].set(last), jnp.zeros(()), jnp.zeros((), int), *none)


def descended(
    network: RandomNetwork, passed: Forward, x: Float[Array, "N n_0"], error: Float[Array, "N n_L"], rate: float | Array
) -> RandomNetwork:
    r"""One step from the forward pass `passed`, with `error` $\partial\mathcal L/\partial z^{(L)}$, zero for samples that are not seen:
    PDLT (7.11) with the rates PDLT (8.6), as `gradient_step` makes it."""
    gradients, _ = pull_back(network, passed, error[None])
    stages, signal = [], x
    for stage, z, delta in zip(network.stages, passed.preactivations, gradients.preactivations, strict=True):
        signals = network.net.activation(z)
        before = jnp.concatenate([signal[None], signals[:-1]]) if len(z) > 1 else signal[None]
        signal, rates = signals[-1], stage.layers
        of_weights = (
            jnp.einsum("lan,lam->lnm", delta[:, 0], before) * (rates.lambda_W / before.shape[-1])[:, None, None]
        )
        of_biases = jnp.sum(delta[:, 0], axis=1) * rates.lambda_b[:, None]
        assert isinstance(stage.weights, DenseGaussian)
        stages.append(
            eqx.tree_at(
                lambda stage: (stage.weights.entries, stage.biases),
                stage,
                (stage.weights.entries - rate * of_weights, stage.biases - rate * of_biases),
            )
        )
    return RandomNetwork(network.net, tuple(stages))
