"""Real networks, many of them, and what they show."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.random import fold_in
from jaxtyping import Float, Key

from .._arrays import Array, at_hand
from .._compile import compiled_in_haste
from .._errors import ArgumentError, BlowUpError, DomainError, UnknownNameError
from .._memory import check_four_samples
from .._random import key_of
from .._validation import as_count, as_ensemble, as_inputs
from ..kernels.kernel_map import kernel_recursion
from ..kernels.tangent_map import tangent_kernel_recursion
from ..networks import MLP, LayeredNetwork, ResidualMLP, as_mlp
from ..networks.residual import refuse_norm
from ..results import Ensemble, Flow, Measurement
from ..runs.lanes import lane_of_networks
from ..runs.run import run
from .differential_samplers import DenseDifferentialSampler, check_can_be_measured
from .many_populations import simulate_populations
from .measured import measured_differentials, measured_metric, measured_tangent
from .residual import RESIDUAL_METHODS
from .residual_tangent import RESIDUAL_TANGENT_METHODS
from .samplers import METHODS, Sampler
from .tally import Tally, add_samples, new_tally
from .tangent_samplers import TANGENT_METHODS
from .trust import warn_of_few_networks

Through = Literal["vertex", "ntk", "dntk", "ddntk"]

_WIDEST_DENSE = 256  # the width from which tangent kernels are measured lazily unless said otherwise
_METHODS: dict[type, dict[str, dict[str, Callable[[Any, Float[Array, "N n_0"]], Sampler]]]] = {
    MLP: {
        "vertex": METHODS,
        "ntk": TANGENT_METHODS,
        "dntk": {"dense": partial(DenseDifferentialSampler, to_second=False)},
        "ddntk": {"dense": partial(DenseDifferentialSampler, to_second=True)},
    },
    ResidualMLP: {"vertex": RESIDUAL_METHODS, "ntk": RESIDUAL_TANGENT_METHODS},
}
_POPULATION = "population"
# Tensors of four samples that are alive in a run: sums of powers, those of the lane, and those that are made of them.
_TENSORS = {"vertex": 5.0, "ntk": 20.0, "dntk": 20.0, "ddntk": 20.0}


def simulate_layers(
    net: LayeredNetwork,
    x: Any,
    networks: int,
    seed: int = 0,
    method: str | None = None,
    *,
    through: Through = "vertex",
    chunk_size: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Flow[Measurement]:
    """`simulate` for a network of layers, which documents the arguments."""
    net = net.reading(x)
    inputs = as_inputs(x, "x", net.widths[0])
    networks, seed = as_ensemble(networks, seed, at_least=2)  # one network has no standard error
    if not isinstance(through, str) or through not in _METHODS[MLP]:
        raise UnknownNameError("through", through, _METHODS[MLP])
    if through != "vertex":
        refuse_norm(net, "through", repr(through), "'vertex'")
    method = _method(net, method, through)
    if through in ("dntk", "ddntk"):
        check_can_be_measured(net.activation, len(inputs), to_second=through == "ddntk")
    if chunk_size is not None:
        chunk_size = as_count(chunk_size, "chunk_size")

    check_four_samples(_TENSORS[through], net.depth, len(inputs), "x")
    if through == "vertex":
        kernels, limit = at_hand(kernel_recursion(net, net.first_kernel(inputs))), None
    else:
        kernels, limit = at_hand(tangent_kernel_recursion(net, inputs))
    how: dict[str, Any] = {"chunk_size": chunk_size, "progress": progress, "checkpoint": checkpoint}
    tally = metric = None
    if net.depth > 1 and method == _POPULATION:
        metric, networks = simulate_populations(as_mlp(net), kernels, networks, seed, **how)
    elif net.depth > 1:
        sampler, key = _METHODS[type(net)][through][method](net, inputs), key_of(seed)
        lane = lane_of_networks(sampler.numbers_per_network(), networks)
        tally = run(
            lambda tally, first: add_lane(tally, sampler, key, first, networks, lane),
            new_tally(jax.eval_shape(sampler, key), kernels, limit),
            total=networks,
            lane=lane,
            problem=(net, inputs, networks, seed, method, through, lane),
            check=partial(_check_finite, net=net),
            **how,
        )
    first = second = None
    if through in ("dntk", "ddntk"):
        first, second = measured_differentials(net, len(inputs), tally, networks, to_second=through == "ddntk")
    measured = Flow(
        net,
        np.asarray(kernels),
        measured_metric(net, kernels, tally, networks) if metric is None else metric,
        None if limit is None else measured_tangent(net, limit, tally, networks),
        differential=first,
        second_differential=second,
        ensemble=Ensemble(networks, seed, method),
    )
    if net.depth > 1:
        warn_of_few_networks(measured)
    return measured


@compiled_in_haste(static_argnames="lane")
def add_lane(
    tally: Tally, sampler: Sampler, key: Key[Array, ""], start: int | Array, networks: int | Array, lane: int
) -> Tally:
    """The next `lane` networks. The number is part of the compiled code, so that rounding never depends on chunks."""
    indices = start + jnp.arange(lane)
    samples = jax.vmap(lambda i: sampler(fold_in(key, i)))(indices)
    return add_samples(tally, samples, indices < networks)


def _method(net: LayeredNetwork, method: Any, through: Through) -> str:
    of_kind = _METHODS[type(net)]
    if through not in of_kind:
        got = f"{through!r} for a {type(net).__name__}"
        raise DomainError("through", got, f"an MLP, or {' or '.join(map(repr, of_kind))}")
    known = tuple(of_kind[through])
    if through == "vertex" and not net.neurons_persist:
        known = (*known, _POPULATION)
    if method is None:
        wide = max(net.hidden_widths, default=1) > _WIDEST_DENSE and "lazy" in known
        return "chain" if through == "vertex" else "lazy" if wide else "dense"
    if method == _POPULATION and net.neurons_persist:
        raise ArgumentError(
            "method", repr(method), f"one of {', '.join(known)}: populations follow metrics, not neurons"
        )
    if isinstance(method, str) and method in ("chain", _POPULATION) and method not in known:
        others = " or ".join(map(repr, known))
        raise ArgumentError(
            "method", f"{method!r}, under which weights do not exist", f"{others} for through={through!r}"
        )
    if method == "lazy" and "dense" in known and method not in known:
        got = "'lazy', whose weights forget all but a few products: derivatives of kernels ask for more"
        raise ArgumentError("method", got, f"'dense' for through={through!r}")
    if not isinstance(method, str) or method not in known:
        raise UnknownNameError("method", method, known)
    return method


def _check_finite(tally: Tally, net: LayeredNetwork) -> None:
    for what, finite in tally.checks().items():
        if not finite.all():
            layer = net.depth - len(finite) + int(np.argmin(finite)) + 1
            raise BlowUpError(f"The {what} of layer {layer} of {net!r} overflows: lower C_W or the depth.")
