"""Many networks with their features, gradients and velocities."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.random import fold_in
from jaxtyping import Int

from ..._arrays import Array
from ..._errors import ArgumentError, DomainError, UnknownNameError
from ..._validation import as_count, as_covariance, as_ensemble, as_number
from ...networks.shaped import BlockNetwork, ShapedMLP
from ...results.feature_law import FeatureFields, FeatureLaw, as_targets, feature_law
from ...runs.lanes import lane_size
from ...runs.run import run
from ...runs.store import empty_store, put
from .chain import chain_features
from .dense import dense_features
from .neuron import neuron_of

METHODS: dict[str, Callable[..., FeatureFields]] = {"chain": chain_features, "dense": dense_features}
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
    if not isinstance(net.block, ShapedMLP):
        raise ArgumentError("net", f"a network of {type(net.block).__name__}", "one of ShapedMLP")
    m, p, n, d = len(start), len(start) * outputs, net.width, net.depth
    if n < m + p:
        raise DomainError("width", n, f"at least {m + p}, the forward and backward vectors of {m} inputs")
    neuron = neuron_of(net.block.activation, n)
    intervals = min(_SAVED if save is None else as_count(save, "save"), d)
    saved = np.round(np.linspace(0, d, intervals + 1)).astype(int)
    numbers = 2 * d * n * (m + p) if method == "chain" else n * n * d * (4 + p)
    lane, key = lane_size(numbers, networks, _MEMORY), jax.random.key(seed)
    goal = None if wanted is None else jnp.asarray(wanted)

    def lane_from(first: Int[Array, ""] | int) -> FeatureFields:
        return _lane(
            neuron, jnp.asarray(start), goal, rate, jnp.asarray(saved), key, first, method, n, d, outputs, lane
        )

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


@partial(jax.jit, static_argnames=("method", "width", "depth", "outputs", "lane"))
def _lane(
    neuron: Any,
    V0: Array,
    targets: "Array | None",
    rate: Array | float,
    saved: Array,
    key: Any,
    first: Any,
    method: str,
    width: int,
    depth: int,
    outputs: int,
    lane: int,
) -> FeatureFields:
    def network(index: Array) -> FeatureFields:
        own = fold_in(key, index)
        return METHODS[method](neuron, V0, targets, rate, saved, own, width, depth, outputs)

    return jax.vmap(network)(first + jnp.arange(lane))
