"""Metrics of many networks, one by one: what a law, and not only its moments, is read from."""

import os
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float, Key

from .._arrays import Array
from .._entry import entry
from .._validation import as_ensemble, as_inputs
from ..networks import MLP, as_mlp
from .one_by_one import one_by_one
from .samplers import ChainSampler


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
    sampler = ChainSampler(net, inputs)
    later = one_by_one(
        _Metrics(sampler),
        sampler.numbers_per_network() + net.depth * len(inputs) ** 2,
        networks,
        seed,
        (net, inputs, networks, seed, "metrics"),
        checkpoint,
        progress,
    )
    first = np.broadcast_to(np.asarray(sampler.first), (networks, 1, len(inputs), len(inputs)))
    return np.concatenate([first, later], axis=1)


class _Metrics(eqx.Module):
    """Of each network its metrics alone."""

    sampler: ChainSampler

    def __call__(self, key: Key[Array, ""]) -> Float[Array, "later N N"]:
        return self.sampler(key).metrics
