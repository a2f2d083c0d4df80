"""Many networks with their features, gradients and velocities."""

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.random import fold_in
from jaxtyping import Float, Int, Key

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ..._errors import ArgumentError, DomainError, UnknownNameError
from ..._memory import check_memory
from ..._random import key_of
from ..._validation import as_count, as_covariance, as_ensemble, as_number
from ...networks.shaped import BlockNetwork, ShapedMLP, ShapedResNet
from ...networks.shaped.sublayers import hidden_units
from ...results.feature_law import FeatureFields, FeatureLaw, as_targets, feature_law
from ...runs.lanes import lane_size
from ...runs.run import run
from ...runs.store import empty_store, put
from .chain import chain_features
from .dense import dense_features
from .neuron import Neuron, neuron_of
from .residual import Branch, chain_residual, dense_residual

METHODS: dict[str, Callable[..., FeatureFields]] = {"chain": chain_features, "dense": dense_features}
RESIDUAL: dict[str, Callable[..., FeatureFields]] = {"chain": chain_residual, "dense": dense_residual}
_MEMORY = 2**26  # bytes of networks that are drawn in one go
_SAVED = 20


def simulate_features(
    net: BlockNetwork,
    V0: Any,
    networks: int,
    seed: int = 0,
    method: str = "chain",
    *,
    targets: Any = None,
    rate: float = 1.0,
    outputs: int | None = None,
    save: int | None = None,
    chunk_size: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> FeatureLaw:
    """`simulate(..., through="features")`, which documents the arguments."""
    start = np.asarray(as_covariance(V0, "x"))
    if not np.diagonal(start).min() > 0:
        raise DomainError("x", "an input of norm zero", "inputs that are not zero")
    networks, seed = as_ensemble(networks, seed)
    wanted, outputs = as_targets(targets, outputs, len(start))
    rate = as_number(rate, "rate")
    if not isinstance(method, str) or method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    m, p, n, d = len(start), len(start) * outputs, net.width, net.depth
    if n < m + p:
        raise DomainError("width", n, f"at least {m + p}, the forward and backward vectors of {m} inputs")
    of = _described(net, trained=wanted is not None)
    intervals = min(_SAVED if save is None else as_count(save, "save"), d)
    saved = np.round(np.linspace(0, d, intervals + 1)).astype(int)
    widest = max(n, of.units) if isinstance(of, Branch) else n
    numbers = 2 * d * widest * (m + p) if method == "chain" else 2 * n * widest * d * (4 + p)
    lane, key = lane_size(numbers, networks, _MEMORY), key_of(seed)
    kept = networks * (intervals + 1) * (3 * m * m + p * p + 2 * m * p)
    what = f"{networks} networks {n} wide and {d} deep"
    check_memory(8.0 * (lane * numbers + kept), "net", what, "a smaller network, fewer inputs or fewer networks")
    goal = None if wanted is None else jnp.asarray(wanted)

    def lane_from(first: Int[Array, ""] | int) -> FeatureFields:
        return _lane(of, jnp.asarray(start), goal, rate, jnp.asarray(saved), key, first, method, n, d, outputs, lane)

    found = run(
        lambda store, first: put(store, first, lane_from(first)),
        empty_store(jax.eval_shape(lane_from, 0), networks),
        total=networks,
        lane=lane,
        problem=("features", net, start, wanted, outputs, rate, networks, seed, method, saved),
        chunk_size=lane if chunk_size is None else as_count(chunk_size, "chunk_size"),
        checkpoint=checkpoint,
        progress=progress,
    )
    return feature_law(
        found, block=net.block, times=saved / n, targets=wanted, depth_to_width=net.depth_over_width, rate=rate, seed=seed,
        method=method, width=n, depth=d,
    )  # fmt: skip


def _described(net: BlockNetwork, trained: bool) -> Neuron | Branch:
    """The block at its width; refused where nobody knows how to draw its gradients."""
    block = net.block
    if isinstance(block, ShapedMLP):
        return neuron_of(block.activation, net.width)
    if isinstance(block, ShapedResNet) and not trained:
        if float(block.gamma) == 0:
            raise DomainError("gamma", 0.0, "a positive number: without branches there is nothing to train")
        units = hidden_units(block.hidden_ratio, net.width)
        return Branch(neuron_of(block.activation, net.width), jnp.asarray(block.gamma), units)
    more = ": velocities are known for MLPs" if trained else " or ShapedResNet"
    raise ArgumentError("net", f"a network of {type(block).__name__}", f"one of ShapedMLP{more}")


@compiled_in_haste(static_argnames=("method", "width", "depth", "outputs", "lane"))
def _lane(
    of: Neuron | Branch,
    V0: Float[Array, "m m"],
    targets: Float[Array, " p"] | None,
    rate: Array | float,
    saved: Int[Array, " times"],
    key: Key[Array, ""],
    first: Int[Array, ""] | int,
    method: str,
    width: int,
    depth: int,
    outputs: int,
    lane: int,
) -> FeatureFields:
    def network(index: Array) -> FeatureFields:
        own = fold_in(key, index)
        if isinstance(of, Branch):
            return RESIDUAL[method](of, V0, saved, own, width, depth, outputs)
        return METHODS[method](of, V0, targets, rate, saved, own, width, depth, outputs)

    return jax.vmap(network)(first + jnp.arange(lane))
