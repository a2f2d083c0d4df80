"""Metrics of many networks, one by one: what a law, and not only its moments, is read from."""

import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.random import fold_in
from jaxtyping import Float, Int, Key

from .._arrays import Array
from .._compile import compiled_in_haste
from .._entry import entry
from .._validation import as_ensemble, as_inputs
from ..networks import MLP, as_mlp
from ..runs.lanes import lane_size
from ..runs.run import run
from ..runs.store import empty_store, put
from .samplers import ChainSampler, Sampler

_AT_MOST = 256


@entry(remedy="lower C_W or the depth")
def metric_samples(
    net: MLP,
    x: Any,
    networks: int = 1000,
    seed: int = 0,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Float[np.ndarray, "networks L N N"]:
    r"""The metrics $\widehat G^{(\ell)}_{\alpha\beta}$ of every layer of an ensemble, by the kernel Markov chain PDLT (4.69)-(4.70).

    Given them, the neurons of a layer are independent Gaussians of this covariance: all that there is to know of a layer's law.

    **Arguments:**

    - `x`: inputs, shape (N, n_0).
    - `networks`, `seed`: how many networks to draw; network $i$ of a seed is always the same.
    - `progress`, `checkpoint`: as in `simulate`.

    **Returns:** an array with axes (network, layer, sample, sample). The first layer's metric is the kernel, in every network.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.ensembles.metric_samples(net, [[1.0, 0.5]], networks=4).shape
        (4, 3, 1, 1)
    """
    inputs = as_inputs(x, "x", as_mlp(net).widths[0])
    networks, seed = as_ensemble(networks, seed)
    sampler, key = ChainSampler(net, inputs), jax.random.key(seed)
    lane = lane_size(sampler.numbers_per_network() + net.depth * len(inputs) ** 2, _AT_MOST)

    def lane_from(first: Int[Array, ""] | int) -> Float[Array, "lane later N N"]:
        return _lane(sampler, key, first, lane)

    later = run(
        lambda store, first: put(store, first, lane_from(first)),
        empty_store(jax.eval_shape(lane_from, 0), networks),
        total=networks,
        lane=lane,
        problem=(net, inputs, networks, seed, "metrics"),
        chunk_size=lane,
        checkpoint=checkpoint,
        progress=progress,
    )
    first = np.broadcast_to(np.asarray(sampler.first), (networks, 1, len(inputs), len(inputs)))
    return np.concatenate([first, later], axis=1)


@compiled_in_haste(static_argnames="lane")
def _lane(
    sampler: Sampler, key: Key[Array, ""], first: Int[Array, ""] | int, lane: int
) -> Float[Array, "lane later N N"]:
    """Networks number `first`, `first + 1`, ..., side by side."""
    return jax.vmap(lambda number: sampler(fold_in(key, number)).metrics)(first + jnp.arange(lane))
