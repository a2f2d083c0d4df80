"""Real networks of blocks, and the law of their covariances."""

import os
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from ..._arrays import Array
from ..._errors import DomainError, UnknownNameError
from ..._random import key_of
from ..._validation import as_count, as_covariance, as_ensemble, as_number
from ...gaussian.root import root_at_hand
from ...networks.shaped import BlockNetwork
from ...networks.shaped.sublayers import FullyConnected
from ...results import CovarianceLaw
from ...results.covariance_law import law_of_paths
from ...runs.lanes import lane_of_networks
from ...runs.run import run
from ...runs.saved import saved_intervals
from ...runs.store import empty_store, put
from ...runs.walker import Paths, walk
from .chain import ChainNetwork
from .dense import DenseNetwork

METHODS: dict[str, Callable[..., ChainNetwork | DenseNetwork]] = {"chain": ChainNetwork, "dense": DenseNetwork}
LARGEST_NORM = 1e150  # squares of larger numbers overflow


def simulate_block(
    net: BlockNetwork,
    V0: Any,
    networks: int,
    seed: int = 0,
    method: str = "chain",
    *,
    save: int | None = None,
    radius: float = LARGEST_NORM,
    chunk_size: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> CovarianceLaw:
    """`simulate` for the network of a block, which documents the arguments."""
    start = np.asarray(as_covariance(V0, "x"))
    networks, seed = as_ensemble(networks, seed)
    chunk_size = None if chunk_size is None else as_count(chunk_size, "chunk_size")
    if not isinstance(method, str) or method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    norm = float(np.linalg.norm(start))
    radius = as_number(radius, "radius", low=0.0, high=LARGEST_NORM)
    if not norm < radius:
        raise DomainError("radius", radius, f"more than the norm of the inputs' covariance, {norm:.3g}")
    layers = net.block.sublayers(net.width, len(start))
    root = _root(start, net.width, any_rank=method == "chain" and isinstance(layers[0], FullyConnected))
    process = METHODS[method](layers, root, net.width)

    saved = np.round(np.linspace(0, net.depth, saved_intervals(save, net.depth, networks, len(start)) + 1)).astype(int)
    lane, key = lane_of_networks(process.numbers(), networks), key_of(seed)

    def lane_from(first: Int[Array, ""] | int) -> Paths:
        return walk(process, key, first, saved, radius, lane)

    paths = run(
        lambda store, first: put(store, first, lane_from(first)),
        empty_store(jax.eval_shape(lane_from, 0), networks),
        total=networks,
        lane=lane,
        problem=(net, start, networks, seed, method, saved, radius),
        chunk_size=lane if chunk_size is None else chunk_size,
        checkpoint=checkpoint,
        progress=progress,
    )
    paths.V[:, 0] = start  # to the last digit
    return law_of_paths(
        net.block, paths.V, paths.status, paths.stopped_at, saved, net.time_of_a_layer,
        radius, depth_to_width=net.depth_time, seed=seed, method=method, width=net.width, depth=net.depth,
    )  # fmt: skip


def _root(V0: Float[np.ndarray, "m m"], width: int, any_rank: bool) -> Float[np.ndarray, "m m"]:
    root = root_at_hand(V0)
    rank = int(np.count_nonzero(np.any(root != 0, axis=0)))
    if rank > width and not any_rank:
        raise DomainError("x", f"a matrix of rank {rank}", f"rank at most {width}: tokens are vectors of that width")
    return root
