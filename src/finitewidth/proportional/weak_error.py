r"""How large a step may be: the same paths with steps $\Delta$ and $2\Delta$, and what they disagree by.

The schemes are of weak order one or better, $E[f(V^\Delta)] = E[f(V)] + e\,\Delta + O(\Delta^2)$ (Talay and Tubaro), so that
the disagreement of the two estimates the error of the finer, and $2E_\Delta - E_{2\Delta}$ is of order two. A step of
$2\Delta$ is driven by the sum of the two normals of the finer steps: most of the noise cancels in the difference.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float, Int, Key

from .._arrays import Array
from .._entry import entry
from .._errors import ArgumentError
from .._validation import as_count, as_number, as_seed
from ..networks.shaped import ShapedBlock
from ..networks.shaped.shaped_relu_kernel import correlation_and_scale
from ..runs.walker import Walker, guarded, shown, start_walker
from .covariance_sde import default_steps, starting_point
from .integrators import as_scheme
from .kernel_wishart_step import KernelWishartStep
from .scheme import Integration

Statistic = Callable[[Float[Array, "m m"]], Float[Array, " k"]]


@dataclass(frozen=True)
class NormsAndCorrelations:
    r"""$V^{\alpha\alpha}/(V^{\alpha\alpha} + v)$ of each token, then $\rho^{\alpha\beta}$ of each pair: bounded, so that the few
    paths that explode do not hide what the others do."""

    scale: float
    """$v$, a typical norm."""

    def __call__(self, V: Float[Array, "m m"]) -> Float[Array, " k"]:
        """Of one covariance."""
        above = np.triu_indices(len(V), 1)
        norms = jnp.diagonal(V)
        return jnp.concatenate([norms / (norms + self.scale), correlation_and_scale(V)[0][above]])


class StepAdvice(eqx.Module):
    """What a number of steps costs in accuracy; arrays over the statistics compared."""

    steps: int = eqx.field(static=True)
    mean: Float[np.ndarray, " k"]
    """Means over paths, with these steps."""
    standard_error: Float[np.ndarray, " k"]
    """Their Monte Carlo errors."""
    weak_error: Float[np.ndarray, " k"]
    r"""$E_{\Delta} - E_{2\Delta}$: to leading order minus the bias of `mean`."""
    weak_error_uncertainty: Float[np.ndarray, " k"]
    """The Monte Carlo error of `weak_error`."""
    tolerance: float = eqx.field(static=True)
    fewest_steps: int = eqx.field(static=True, default=1)
    """Fewer are never suggested."""

    @property
    def extrapolated(self) -> Float[np.ndarray, " k"]:
        r"""$2E_\Delta - E_{2\Delta}$, whose bias is of second order."""
        return self.mean + self.weak_error

    @property
    def enough(self) -> bool:
        """Whether no bias can be told from one within the tolerance."""
        return bool((np.abs(self.weak_error) <= self.tolerance + 2 * self.weak_error_uncertainty).all())

    @property
    def suggested_steps(self) -> int:
        """Steps at which the largest estimated bias would equal the tolerance, the bias being proportional to the step; no
        fewer than a quarter of those tried, beyond which that is a guess, nor than keep covariances positive."""
        certain = np.maximum(np.abs(self.weak_error) - 2 * self.weak_error_uncertainty, 0.0)
        return max(self.fewest_steps, math.ceil(self.steps * float(certain.max()) / self.tolerance))


@entry()
def step_advice(
    block: ShapedBlock,
    V0: Any,
    depth_to_width: float,
    steps: int | None = None,
    paths: int = 4096,
    seed: int = 0,
    tolerance: float = 0.01,
    method: str = "exponential",
    radius: float = 1e6,
    statistic: Statistic | None = None,
) -> StepAdvice:
    """Estimate the bias that `steps` steps leave in the means of `statistic` at the last depth.

    - `steps`: rounded up to an even number; by default those that `covariance_sde` takes.
    - `tolerance`: the bias that is accepted.
    - `statistic`: a function of one covariance; by default `NormsAndCorrelations`, with the mean norm of `V0`.
    """
    start = starting_point(block, V0, depth_to_width, radius)
    scheme = as_scheme(method)
    if isinstance(scheme, KernelWishartStep):
        raise ArgumentError("method", repr(method), "'exponential' or 'euler', whose steps can share their noise")
    steps = default_steps(block, start.V0, start.time) if steps is None else as_count(steps, "steps")
    steps += steps % 2
    step = start.time / steps
    scheme.check(block, len(start.V0), 2 * step)
    paths = as_count(paths, "paths", at_least=2)
    tolerance = as_number(tolerance, "tolerance", low=np.finfo(float).tiny)
    if statistic is not None and not callable(statistic):
        raise ArgumentError("statistic", repr(statistic), "a function of one covariance, or `None`")
    statistic = statistic or NormsAndCorrelations(float(np.trace(start.V0)) / len(start.V0) or 1.0)
    key = jax.random.key(as_seed(seed))
    fine, coarse = (
        Integration(scheme, block, jnp.asarray(start.factor), jnp.asarray(size)) for size in (step, 2 * step)
    )
    sphere, coarse_steps = jnp.asarray(start.radius), jnp.asarray(steps // 2)
    pairs = np.asarray(_pairs_of_paths(fine, coarse, statistic, sphere, key, coarse_steps, paths))
    difference = pairs[:, 0] - pairs[:, 1]
    root = math.sqrt(paths)
    return StepAdvice(
        steps=steps,
        mean=pairs[:, 0].mean(axis=0),
        standard_error=pairs[:, 0].std(axis=0, ddof=1) / root,
        weak_error=difference.mean(axis=0),
        weak_error_uncertainty=difference.std(axis=0, ddof=1) / root,
        tolerance=tolerance,
        fewest_steps=max(-(-steps // 4), math.ceil(start.time / float(block.largest_step) - 1e-9)),
    )


@partial(jax.jit, static_argnames=("statistic", "paths"))
def _pairs_of_paths(
    fine: Integration,
    coarse: Integration,
    statistic: Statistic,
    radius: Float[Array, ""],
    key: Key[Array, ""],
    coarse_steps: Int[Array, ""],
    paths: int,
) -> Float[Array, "paths 2 k"]:
    def pair(index: Array) -> Array:
        own = jax.random.fold_in(key, index)

        def advance(number: Array, walkers: tuple[Walker, Walker]) -> tuple[Walker, Walker]:
            one, other = walkers
            drawn = []
            for half in (2 * number - 1, 2 * number):
                drawn.append(fine.draw(own, half, one.state))
                one = guarded(fine, one, fine.advance(one.state, drawn[-1]), radius, half)
            together = (drawn[0] + drawn[1]) / jnp.sqrt(2.0)
            return one, guarded(coarse, other, coarse.advance(other.state, together), radius, number)

        start = start_walker(fine, own), start_walker(coarse, own)
        ends = zip((fine, coarse), lax.fori_loop(1, coarse_steps + 1, advance, start), strict=True)
        return jnp.stack([statistic(shown(process, walker, radius)) for process, walker in ends])

    return jax.vmap(pair)(jnp.arange(paths))
