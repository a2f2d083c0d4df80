"""The posterior of real networks of any width: drawn from the prior, weighted by how well they agree with the data."""

import math
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ..._entry import entry, warn
from ..._errors import DomainError
from ..._random import key_of
from ..._validation import as_ensemble, as_number
from ...ensembles.samplers import METHODS
from ...networks import MLP, as_mlp
from ...results import Measurement, Posterior, Representation
from ...runs.lanes import lane_of_networks
from ...runs.run import run
from ..samples import as_samples
from .data import as_data
from .weighted import WeightedSums, add_networks, jackknife, no_networks

_FEWEST = 10.0  # effective networks below which there is no answer
_FEW = 100.0  # below which errors are themselves uncertain


@entry()
def exact_posterior(
    net: MLP,
    x_train: Any,
    y_train: Any,
    x_test: Any,
    noise: float = 0.0,
    networks: int = 100_000,
    seed: int = 0,
    *,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Posterior[Measurement]:
    r"""What `bayes` approximates, measured on networks of the widths of `net`, for small problems.

    Given the metric $\widehat G = \widehat G^{(L)}$ of the last layer outputs are Gaussian. Metrics are drawn from the prior, by the chain
    of `simulate`, and weighted with $w = p(y|\widehat G) = \mathcal N(y; 0, \widehat G_{AA} + \sigma_\varepsilon^2)$, PDLT (6.94):

    $$E[z_B|y] = \frac{E[w\,\hat m]}{E[w]},\quad \hat m = \widehat G_{BA}\widehat G_{AA}^{-1}y,\qquad
      \mathrm{Cov}[z_{i}, z_{j}] = \delta_{ij}E_w\big[\widehat G_{BB} - \widehat G_{BA}\widehat G_{AA}^{-1}\widehat G_{AB}\big]
      + \mathrm{Cov}_w[\hat m_i, \hat m_j],\qquad p(y) = E[w].$$

    The first part of the covariance is `sample_covariance`, the second `wiring`. Exact in law at any width but for Monte Carlo errors,
    which are given, by the jackknife over groups of networks. Weights grow more unequal with $n_LN_{train}/n$: `effective_networks` says
    how many networks decide the result. Below a hundred it warns, below ten it refuses.

    **Arguments:** as for `bayes`, and

    - `networks`: how many to draw, at least 1000; results for a seed are reproducible.
    - `checkpoint`: a file from which a killed run resumes.

    Examples:
        >>> net = fw.MLP("linear", (1, 8, 1))
        >>> fw.learning.exact_posterior(net, [[1.0]], [1.0], [[2.0]], networks=1000).mean.mean.round(6).tolist()
        [[2.0]]
    """
    noise = as_number(noise, "noise", low=0.0)
    networks, seed = as_ensemble(networks, seed, at_least=1000)
    x, y = as_data(as_mlp(net), x_train, y_train, noise)
    test = as_samples(net, x_test, "x_test")
    _check_rank(net, len(x), noise)
    together = np.concatenate([x, test])
    sampler = METHODS["chain"](net, together)
    key, lane = key_of(seed), lane_of_networks(sampler.numbers_per_network(), networks)
    sums = run(
        lambda sums, first: _add_lane(sums, sampler, key, first, networks, y, noise, lane),
        no_networks(net.depth - 1, len(together), len(y), y.shape[1]),
        total=networks,
        lane=lane,
        problem=(net, together, y, noise, networks, seed, lane, "posterior"),
        progress=progress,
        checkpoint=checkpoint,
    )
    return _measured(net, jax.tree.map(np.asarray, sums), noise, networks)


@compiled_in_haste(static_argnames="lane")
def _add_lane(
    sums: WeightedSums,
    sampler: Any,
    key: Any,
    start: int | Array,
    networks: int | Array,
    y: Float[Array, "A n_L"],
    noise: float | Array,
    lane: int,
) -> WeightedSums:
    indices = start + jnp.arange(lane)
    metrics = jax.vmap(lambda i: sampler(jax.random.fold_in(key, i)).metrics)(indices)
    return add_networks(sums, metrics, y, noise, indices, indices < networks)


def _measured(net: MLP, sums: WeightedSums, noise: float, networks: int) -> Posterior[Measurement]:
    effective = sums.effective_networks
    if not effective >= _FEWEST:
        got = f"{networks}, of which only {effective:.1f} decide the posterior"
        more = math.ceil(networks * _FEW / max(effective, 1.0))
        raise DomainError("networks", got, f"about {more}, or wider networks, fewer training samples, more noise")
    if effective < _FEW:
        warn(
            f"Only {effective:.0f} of {networks} networks decide the posterior: its standard errors are themselves uncertain. Draw more, "
            "or take wider networks, fewer training samples or more noise."
        )

    def error(name: str) -> Measurement:
        value, standard_error = jackknife(sums, name)
        return Measurement(value, standard_error, np.full(value.shape, min(effective, float(networks))))

    return Posterior(
        error("mean"),
        error("sample_covariance"),
        error("wiring"),
        error("whole_covariance"),
        log_evidence=error("log_evidence"),
        representation=Representation(error("prior"), error("posterior"), error("change")),
        net=net,
        noise=noise,
        effective_networks=effective,
    )


def _check_rank(net: MLP, samples: int, noise: float) -> None:
    """Networks so narrow that they cannot agree with the data have no posterior."""
    if net.depth == 1:
        raise DomainError("net", "no hidden layer", "one at least: without, `bayes` at order 0 is exact")
    rank = net.widths[-2] + int(np.asarray(net.C_b)[-1] > 0)
    if noise == 0 and rank < samples:
        want = f"at least {samples - rank + net.widths[-2]} neurons in the last hidden layer, or `noise` > 0"
        raise DomainError("net", f"{net.widths[-2]} neurons, which cannot pass through {samples} targets", want)
