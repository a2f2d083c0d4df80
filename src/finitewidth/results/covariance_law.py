"""The law of a covariance matrix, as sampled paths."""

from collections import Counter
from enum import IntEnum
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError
from .._validation import as_count, as_floats, as_seed
from ..gaussian.root import covariance_root
from ..networks.shaped import Block
from ..networks.shaped.shaped_relu_kernel import correlation_and_scale


class PathStatus(IntEnum):
    """How a path ended."""

    RUNNING = 0
    """It reached the last depth."""
    STOPPED = 1
    """Its norm reached the radius, where it was frozen."""
    LEFT_THE_CONE = 2
    """A step made it indefinite (only plain Euler steps can), and it was frozen before."""


class CovarianceLaw(eqx.Module):
    """Paths of a covariance matrix in depth: of the limit, or measured on networks. Both have the same fields."""

    block: Block
    """What the tokens pass through, again and again."""
    times: Float[np.ndarray, " times"]
    """Depth times, from 0 to `depth_to_width`."""
    V: Float[np.ndarray, "paths times m m"]
    """The covariances; those of a path that has ended stay where they were."""
    stopping_times: Float[np.ndarray, " paths"]
    """When each path ended; infinite for paths that run to the end."""
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
        """How many paths ended in which way: `{"running": ..., "stopped": ..., "left the cone": ...}`."""
        found = Counter(np.asarray(self.status).tolist())
        return {status.name.lower().replace("_", " "): found.get(int(status), 0) for status in PathStatus}

    @property
    def stopped_fraction(self) -> float:
        """The fraction of paths that did not run to the end."""
        return float(np.mean(np.asarray(self.status) != PathStatus.RUNNING))

    def correlation(self) -> Float[np.ndarray, "paths times m m"]:
        r"""$\rho^{\alpha\beta} = V^{\alpha\beta}/\sqrt{V^{\alpha\alpha}V^{\beta\beta}}$ along all paths."""
        with jax.enable_x64(True):
            return np.asarray(correlation_and_scale(jnp.asarray(self.V))[0])

    def quantile(self, q: Any) -> Float[np.ndarray, "*q times m m"]:
        """Quantiles over paths of each entry of the covariance, stopped paths included."""
        levels = np.asarray(as_floats(q, "q"))
        if ((levels < 0) | (levels > 1)).any():
            raise DomainError("q", levels.tolist(), "probabilities in [0, 1]")
        return np.quantile(self.V, levels, axis=0)

    @entry()
    def output_samples(self, outputs: int = 1, seed: int = 0) -> Float[np.ndarray, "paths outputs m"]:
        r"""Outputs of the networks, $N(0, V_T)$ given the last covariance (Shaped Transformer Eq. 21), for each path."""
        outputs, key = as_count(outputs, "outputs"), jax.random.key(as_seed(seed))
        roots = jax.jit(jax.vmap(covariance_root))(jnp.asarray(self.final))
        normals = jax.random.normal(key, (self.paths, outputs, roots.shape[-1]), roots.dtype)
        return np.asarray(normals @ roots.swapaxes(-1, -2))


def law_of_paths(
    block: Block,
    V: Float[Array, "paths times m m"],
    status: Int[Array, " paths"],
    stopped_at: Int[Array, " paths"],
    saved_steps: Int[np.ndarray, " times"],
    time_of_a_step: float,
    **about: Any,
) -> CovarianceLaw:
    """The law of paths that were saved, and stopped, after whole numbers of steps."""
    return CovarianceLaw(
        block=block,
        times=saved_steps * time_of_a_step,
        V=np.asarray(V),
        stopping_times=np.where(status == PathStatus.RUNNING, np.inf, np.asarray(stopped_at) * time_of_a_step),
        status=np.asarray(status),
        **about,
    )
