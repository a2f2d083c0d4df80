r"""How large a step may be: the same paths with steps $\Delta$ and $2\Delta$, and what they disagree by.

Where paths shorten their steps, both take the steps that the faster of the two demands, at the tolerance of each.

The schemes are of weak order one or better, $E[f(V^\Delta)] = E[f(V)] + e\,\Delta + O(\Delta^2)$ (Talay and Tubaro), so that
the disagreement of the two estimates the error of the finer, and $2E_\Delta - E_{2\Delta}$ is of order two. A step of
$2\Delta$ is driven by the sum of the two normals of the finer steps: most of the noise cancels in the difference.
"""

import math
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array, diagonal
from .._entry import entry
from .._errors import ArgumentError, BlowUpError
from .._random import key_of
from .._result import Result
from .._validation import as_count, as_number, as_seed
from ..networks.shaped import ShapedBlock
from ..networks.shaped.shaped_relu_kernel import correlation_and_scale
from ..runs.queue import drain
from .covariance_sde import integration, most_steps_of, slots, starting_point, too_many_steps
from .integrators import as_scheme
from .kernel_wishart_step import KernelWishartStep
from .paired_paths import Pairs, Statistic
from .step_size import default_steps


@dataclass(frozen=True)
class NormsAndCorrelations:
    r"""$V^{\alpha\alpha}/(V^{\alpha\alpha} + v)$ of each token, then $\rho^{\alpha\beta}$ of each pair: bounded, so that the few
    paths that explode do not hide what the others do."""

    scale: float
    """$v$, a typical norm."""

    def __call__(self, V: Float[Array, "m m"]) -> Float[Array, " k"]:
        """Of one covariance."""
        above = np.triu_indices(len(V), 1)
        norms = diagonal(V)
        return jnp.concatenate([norms / (norms + self.scale), correlation_and_scale(V)[0][above]])


class StepAdvice(Result, eqx.Module):
    """What a number of steps costs in accuracy; arrays over the statistics compared."""

    axes = ("statistic",)

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
    stopped_fraction: float = eqx.field(static=True, default=0.0)
    """Of the paths with these steps. Bounded statistics hardly see these paths, so that they are compared as well."""
    stopped_error: float = eqx.field(static=True, default=0.0)
    """Its weak error."""
    stopped_error_uncertainty: float = eqx.field(static=True, default=0.0)
    """The Monte Carlo error of that."""
    unresolved: int = eqx.field(static=True, default=0)
    """Paths that were given up after `most_steps` steps; with them no number of steps is enough."""

    @property
    def extrapolated(self) -> Float[np.ndarray, " k"]:
        r"""$2E_\Delta - E_{2\Delta}$, whose bias is of second order."""
        return self.mean + self.weak_error

    @property
    def enough(self) -> bool:
        """Whether no bias, of a mean or of the fraction stopped, can be told from one within the tolerance."""
        error, uncertainty = self._errors
        return not self.unresolved and bool((np.abs(error) <= self.tolerance + 2 * uncertainty).all())

    @property
    def suggested_steps(self) -> int:
        """Steps at which the largest estimated bias would equal the tolerance, the bias being proportional to the step; no
        fewer than a quarter of those tried, beyond which that is a guess, nor than keep covariances positive."""
        error, uncertainty = self._errors
        certain = np.maximum(np.abs(error) - 2 * uncertainty, 0.0)
        return max(self.fewest_steps, math.ceil(self.steps * float(certain.max()) / self.tolerance))

    @property
    def _errors(self) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        return (
            np.append(self.weak_error, self.stopped_error),
            np.append(self.weak_error_uncertainty, self.stopped_error_uncertainty),
        )


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
    radius: float = 1e12,
    statistic: Statistic | None = None,
    most_steps: int | None = None,
) -> StepAdvice:
    """Estimate the bias that `steps` steps leave in the means of `statistic` at the last depth.

    - `steps`: rounded up to an even number; by default those that `covariance_sde` takes.
    - `tolerance`: the bias that is accepted.
    - `statistic`: a function of one covariance; by default `NormsAndCorrelations`, with the mean norm of `V0`.
    - `most_steps`: as for `covariance_sde`.

    Examples:
        >>> fw.proportional.step_advice(fw.ShapedMLP(), fw.shaped.equal_tokens(2, 0.2), 0.25, steps=4, paths=8).steps
        4
    """
    start = starting_point(block, V0, depth_to_width, radius)
    scheme = as_scheme(method)
    if isinstance(scheme, KernelWishartStep):
        raise ArgumentError("method", repr(method), "'exponential' or 'euler', whose steps can share their noise")
    steps = default_steps(block, start.V0, start.time) if steps is None else as_count(steps, "steps")
    steps += steps % 2
    scheme.check(block, len(start.V0), 2 * start.time / steps)
    paths = as_count(paths, "paths", at_least=2)
    tolerance = as_number(tolerance, "tolerance", low=np.finfo(float).tiny)
    if statistic is not None and not callable(statistic):
        raise ArgumentError("statistic", repr(statistic), "a function of one covariance, or `None`")
    statistic = statistic or NormsAndCorrelations(float(np.trace(start.V0)) / len(start.V0) or 1.0)
    times = np.array([0.0, start.time])
    most = most_steps_of(most_steps, steps)
    fine = integration(scheme, block, start, steps, times, most)
    pairs = Pairs(fine, eqx.tree_at(lambda process: process.rule, fine, fine.rule.doubled()), statistic)
    found = drain(pairs, key_of(as_seed(seed)), 0, paths, paths // 100, 1, slots(block, len(start.V0), paths), paths)
    values, stopped = (np.asarray(row)[:, 0] for row in found.kept)
    unresolved = int(np.sum(found.summary))
    if unresolved > paths // 100:
        raise BlowUpError(too_many_steps("step_advice", f"{unresolved} or more", most))
    values = np.concatenate([values, stopped[..., None]], axis=2)
    root, mean, difference = math.sqrt(paths), values[:, 0].mean(axis=0), values[:, 0] - values[:, 1]
    error, uncertainty = difference.mean(axis=0), difference.std(axis=0, ddof=1) / root
    return StepAdvice(
        steps=steps,
        mean=mean[:-1],
        standard_error=values[:, 0, :-1].std(axis=0, ddof=1) / root,
        weak_error=error[:-1],
        weak_error_uncertainty=uncertainty[:-1],
        tolerance=tolerance,
        fewest_steps=max(-(-steps // 4), math.ceil(start.time / float(block.largest_step) - 1e-9)),
        stopped_fraction=float(mean[-1]),
        stopped_error=float(error[-1]),
        stopped_error_uncertainty=float(uncertainty[-1]),
        unresolved=unresolved,
    )
