"""The law of a covariance matrix, as sampled paths."""

from collections import Counter
from enum import IntEnum
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError
from .._random import key_of
from .._result import Result
from .._table import Table, table_of_paths
from .._validation import as_count, as_floats, as_seed
from ..gaussian.root import covariance_root
from ..networks.shaped import Block
from ..networks.shaped.shaped_relu_kernel import correlation_and_scale


class PathStatus(IntEnum):
    """How a path ended."""

    RUNNING = 0
    """It reached the last depth."""
    STOPPED = 1
    """Its norm reached the radius, and tokens were stopped there (or it vanished beyond the smallest numbers)."""
    LEFT_THE_CONE = 2
    """A step made it indefinite (only plain Euler steps can), and it was frozen before."""
    UNRESOLVED = 3
    """It would have taken more steps than allowed, and was left where it was then: no explosion, and no result."""


class CovarianceLaw(Result, eqx.Module):
    """Paths of a covariance matrix in depth: of the limit, or measured on networks. Both have the same fields."""

    block: Block
    """What the tokens pass through, again and again."""
    times: Float[np.ndarray, " times"]
    """Depth times, from 0 to `depth_to_width`."""
    V: Float[np.ndarray, "paths times m m"]
    """The covariances. A token that is stopped stays where it was, and with it all that depend on it; the others go on."""
    stopping_times: Float[np.ndarray, " paths"]
    """When the first token of each path was stopped; infinite for paths that run to the end."""
    status: Int[np.ndarray, " paths"]
    """A `PathStatus` for each path."""
    depth_to_width: float = eqx.field(static=True)
    seed: int = eqx.field(static=True)
    method: str = eqx.field(static=True)
    steps: int | None = eqx.field(static=True, default=None)
    """Steps in depth time of an integrator; `None` for networks."""
    width: int | None = eqx.field(static=True, default=None)
    """Width of the networks; `None` for the limit."""
    depth: int | None = eqx.field(static=True, default=None)
    """Depth of the networks; `None` for the limit."""
    factor: Float[np.ndarray, "paths times m r"] | None = None
    r"""$F$ with $V = FF^{\mathsf T}$, which keeps the digits of small eigenvalues that $V$ cannot hold; `None` for networks."""
    exploded: Bool[np.ndarray, "paths m"] | None = None
    """Which tokens reached the radius themselves: their norm is beyond its share, the radius over m."""
    token_stopping_times: Float[np.ndarray, "paths m"] | None = None
    """When each token was stopped, because it or one that it depends on exploded; infinite for those that run to the end.
    Entries of $V$ between a stopped token and one that runs on have no meaning."""
    steps_taken: Int[np.ndarray, " paths"] | None = None
    """Steps of each path: more than `steps` where it had to be followed closely; `None` for networks."""

    def table(self) -> Table:
        """One row for each path and depth time, with the independent entries of the covariance."""
        i, j = np.triu_indices(self.V.shape[-1])
        entries = {f"V[{a},{b}]": self.V[:, :, a, b] for a, b in zip(i.tolist(), j.tolist(), strict=True)}
        names = ("depth_to_width", "width", "depth", "method", "steps", "seed", "block")
        facts = {name: fact for name in names if (fact := getattr(self, name)) is not None}
        return Table(facts | {"paths": self.counts}, table_of_paths(self.times, entries).columns)

    @property
    def paths(self) -> int:
        """How many paths there are."""
        return len(self.V)

    @property
    def final(self) -> Float[np.ndarray, "paths m m"]:
        """The covariances at the last depth."""
        return self.V[:, -1]

    @property
    def counts(self) -> dict[str, int]:
        """How many paths ended in which way: `{"running": ..., "stopped": ..., "left the cone": ...}`, and `"unresolved"`
        if there are any."""
        found = Counter(np.asarray(self.status).tolist())
        told = [status for status in PathStatus if status != PathStatus.UNRESOLVED or found[int(status)]]
        return {status.name.lower().replace("_", " "): found[int(status)] for status in told}

    @property
    def stopped_fraction(self) -> float:
        """The fraction of paths that did not run to the end."""
        return float(np.mean(np.asarray(self.status) != PathStatus.RUNNING))

    def correlation(self) -> Float[np.ndarray, "paths times m m"]:
        r"""$\rho^{\alpha\beta} = V^{\alpha\beta}/\sqrt{V^{\alpha\alpha}V^{\beta\beta}}$ along all paths."""
        return np.asarray(correlation_and_scale(np.asarray(self.V))[0])

    def log_determinant(self) -> Float[np.ndarray, "paths times"]:
        r"""$\log\det V$ along all paths, $-\infty$ where $V$ is singular.

        From the factor, $2\log|\det F|$, where there is one: it holds at conditions at which the determinant of $V$ is rounding
        and may be negative. For networks from $V$, down to what rounding leaves of it."""
        if self.factor is not None and self.factor.shape[-1] == self.factor.shape[-2]:
            return 2 * np.linalg.slogdet(self.factor)[1]
        sign, logarithm = np.linalg.slogdet(self.V)
        return np.where((sign > 0) & (self.factor is None), logarithm, -np.inf)

    def quantile(self, q: Any) -> Float[np.ndarray, "*q times m m"]:
        """Quantiles over paths of each entry of the covariance, stopped paths included."""
        levels = np.asarray(as_floats(q, "q"))
        if ((levels < 0) | (levels > 1)).any():
            raise DomainError("q", levels.tolist(), "probabilities in [0, 1]")
        return np.quantile(self.V, levels, axis=0)

    @entry()
    def output_samples(self, outputs: int = 1, seed: int = 0) -> Float[np.ndarray, "paths outputs m"]:
        r"""Outputs of the networks, $N(0, V_T)$ given the last covariance (Shaped Transformer Eq. 21), for each path."""
        outputs, key = as_count(outputs, "outputs"), key_of(as_seed(seed))
        factor = None if self.factor is None else self.factor[:, -1]
        roots = jax.jit(jax.vmap(covariance_root))(jnp.asarray(self.final)) if factor is None else factor
        normals = jax.random.normal(key, (self.paths, outputs, roots.shape[-1]), roots.dtype)
        return np.asarray(normals @ roots.swapaxes(-1, -2))


def law_of_paths(
    block: Block,
    V: Float[Array, "paths times m m"],
    status: Int[Array, " paths"],
    stopped_at: Int[Array, " paths"],
    saved_steps: Int[np.ndarray, " times"],
    time_of_a_step: float,
    radius: float,
    **about: Any,
) -> CovarianceLaw:
    """The law of paths that were saved, and stopped as a whole, after whole numbers of steps."""
    V, stopped = np.asarray(V), np.asarray(status) != PathStatus.RUNNING
    stopping_times = np.where(stopped, np.asarray(stopped_at) * time_of_a_step, np.inf)
    norms = np.diagonal(V[:, -1], axis1=1, axis2=2)
    return CovarianceLaw(
        block=block,
        times=saved_steps * time_of_a_step,
        V=V,
        stopping_times=stopping_times,
        status=np.asarray(status),
        exploded=stopped[:, None] & (norms >= radius / V.shape[-1]),
        token_stopping_times=np.repeat(stopping_times[:, None], V.shape[-1], axis=1),
        **about,
    )
