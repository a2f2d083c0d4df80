"""Metrics measured by populations of networks: many populations, and what their scatter says of the errors."""

import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.random import fold_in
from jaxtyping import Float, Int, Key

from .._arrays import Array
from .._compile import compiled_in_haste
from .._errors import BlowUpError
from .._random import key_of
from ..networks import MLP
from ..results import Measurement, Metric
from ..runs.run import run
from ..runs.store import empty_store, put
from .measured import metric_of
from .population import Estimate, Population
from .tails import add_tails, effective_of_mean, no_tails

_FEWEST, _MANY = 32, 128  # populations: large ones are better than many, but errors and trust come from their scatter
_SMALL, _LARGEST = 32, 2048  # members: enough to choose from, few enough to stay in the cache


def simulate_populations(
    net: MLP,
    kernels: Float[Array, "L N N"],
    networks: int,
    seed: int,
    *,
    chunk_size: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> tuple[Metric[Measurement], int]:
    """The statistics of all layers, and how many networks were drawn: at least `networks`, in populations of one size."""
    wanted = min(max(networks // _SMALL, _FEWEST), _MANY)
    size = min(-(-networks // wanted), _LARGEST)
    count = max(wanted, -(-networks // size))
    population, key = Population(net, kernels, size), key_of(seed)
    found = run(
        lambda store, first: put(store, first, _one(population, key, first)),
        empty_store(jax.eval_shape(_one, population, key, 0), count),
        total=count,
        lane=1,
        problem=(net, kernels[0], networks, seed, "population"),
        chunk_size=None if chunk_size is None else -(-chunk_size // size),
        checkpoint=checkpoint,
        progress=progress,
        things="populations",
        check=lambda found: _check_finite(found, net),
    )
    return metric_of_populations(net, np.asarray(kernels), found), size * count


@compiled_in_haste()
def _one(population: Population, key: Key[Array, ""], number: Int[Array, ""] | int) -> Estimate:
    return jax.tree.map(lambda leaf: leaf[None], population(fold_in(key, number)))


def metric_of_populations(net: MLP, limit: Float[np.ndarray, "L N N"], found: Estimate) -> Metric[Measurement]:
    r"""Averages of the estimates of $R$ populations, with errors by the jackknife.

    With $e_r$ and $E_r$ what population $r$ deviates by from the averages $\delta$ of $d$ and $\Delta$ of $dd$, its share in the
    unbiased covariance $\Delta - \delta\delta + \overline{ee}/(R-1)$ is
    $\Delta - \delta\delta + E_r - e_r\delta - \delta e_r + e_re_r/(R-1)$.
    """
    d, dd = np.asarray(found.d), np.asarray(found.dd)
    populations, later, size = d.shape
    mean, e = d.mean(axis=0), d - d.mean(axis=0)

    def outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a[..., :, None] * b[..., None, :]

    shares = dd - outer(mean, mean) - outer(e, mean) - outer(mean, e) + outer(e, e) / (populations - 1)
    deviation, covariance = np.zeros((2, later + 1, size)), np.zeros((2, later + 1, size, size))
    behind_mean, behind_covariance = (np.full(each.shape[1:], float(populations)) for each in (deviation, covariance))
    for samples, figures, behind in ((d, deviation, behind_mean), (shares, covariance, behind_covariance)):
        figures[0, 1:] = samples.mean(axis=0)
        figures[1, 1:] = samples.std(axis=0, ddof=1) / np.sqrt(populations)
        every = jnp.ones(populations, dtype=bool)
        tails = add_tails(no_tails(samples.shape[1:], orders=3), jnp.asarray(samples), every)
        behind[1:] = effective_of_mean(tails)
    return metric_of(net, limit, deviation, covariance, behind_mean, behind_covariance)


def _check_finite(found: Estimate, net: MLP) -> None:
    finite = np.isfinite(np.asarray(found.dd)).all(axis=(0, 2, 3))
    if not finite.all():
        raise BlowUpError(
            f"The metric of layer {int(np.argmin(finite)) + 2} of {net!r} overflows: lower C_W or the depth."
        )
