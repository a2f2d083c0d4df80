r"""Paths of the covariance SDE $dV = b(V)\,dt + \Sigma(V)^{1/2}dB$, the limit of networks as deep as wide."""

import math
import os
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .._arrays import Array
from .._entry import entry
from .._errors import ArgumentError, DomainError
from .._validation import as_count, as_number, as_seed
from ..networks.shaped import ShapedBlock
from ..networks.shaped.tokens import as_token_covariance
from ..results import CovarianceLaw
from ..results.covariance_law import law_of_paths
from ..runs.lanes import lane_size
from ..runs.run import run
from ..runs.saved import saved_intervals
from ..runs.store import empty_store, put
from ..runs.walker import Paths, walk
from .integrators import as_scheme
from .scheme import Integration

_MEMORY = 2**26  # bytes of paths that are integrated side by side
_LONGEST_DEFAULT_STEP = 0.01
_DEFAULT_RATE = 0.1
_NEARBY = 1e-3


@entry()
def covariance_sde(
    block: ShapedBlock,
    V0: Any,
    depth_to_width: float,
    paths: int = 4096,
    seed: int = 0,
    steps: int | None = None,
    save: int | None = None,
    method: str = "exponential",
    radius: float = 1e6,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> CovarianceLaw:
    r"""Sample the law of the covariance of `block`'s tokens at every depth up to `depth_to_width` times the width.

    **Arguments:**

    - `V0`: the covariance of the inputs, $X_0X_0^{\mathsf T}/n$, shape (m, m); it may be singular.
    - `depth_to_width`: $T = d/n$ (with shaping exponents $p < 1/2$, $d/n^{2p}$).
    - `seed`: path $i$ of a seed is the same path whatever the number of paths.
    - `steps`: integration steps; by default those of `default_steps`. `step_advice` estimates the error they leave.
    - `save`: the number of equal intervals of depth after each of which covariances are kept; the number of steps is rounded
      up to a multiple of it. By default 50, or fewer where that would take more than a gigabyte.
    - `method`: `"exponential"` (positive, any block), `"kernel-wishart"` (positive, MLPs and ResNets with ReLU) or
      `"euler"` (leaves the cone).
    - `radius`: the process is stopped when the Frobenius norm of $V$ reaches it (Shaped Transformer Def. 4.1), and frozen
      there: the limit of attention can explode in finite time, though no network does.
    - `progress`: a progress bar on standard error; by default for long runs in a terminal.
    - `checkpoint`: a file to which the run is written as it goes, and from which a killed run resumes.

    Paths that are stopped are kept, with their status and time.
    """
    begin = starting_point(block, V0, depth_to_width, radius)
    paths, seed = as_count(paths, "paths"), as_seed(seed)
    scheme = as_scheme(method)
    steps = default_steps(block, begin.V0, begin.time) if steps is None else as_count(steps, "steps")
    saved = saved_intervals(save, steps, paths, len(begin.V0))
    steps = -(-steps // saved) * saved
    step = begin.time / steps
    scheme.check(block, len(begin.V0), step)

    numbers = begin.V0.size * (saved + 16)
    lane, key = lane_size(numbers, paths, _MEMORY), jax.random.key(seed)
    process = Integration(scheme, block, jnp.asarray(begin.factor), jnp.asarray(step))
    saved_steps = np.arange(saved + 1) * (steps // saved)

    def lane_from(first: Int[Array, ""] | int) -> Paths:
        return walk(process, key, first, jnp.asarray(saved_steps), begin.radius, lane)

    found = run(
        lambda store, first: put(store, first, lane_from(first)),
        empty_store(jax.eval_shape(lane_from, 0), paths),
        total=paths,
        lane=lane,
        problem=(block, begin.V0, begin.time, begin.radius, paths, seed, method, saved_steps),
        chunk_size=lane,
        checkpoint=checkpoint,
        progress=progress,
        things="paths",
    )
    return law_of_paths(
        block, found.V, found.status, found.stopped_at, saved_steps, step,
        depth_to_width=begin.time, seed=seed, method=method, steps=steps,
    )  # fmt: skip


class StartingPoint(NamedTuple):
    """A starting point and a depth."""

    V0: Float[np.ndarray, "m m"]
    factor: Float[np.ndarray, "m r"]
    time: float
    radius: float


def starting_point(block: ShapedBlock, V0: Any, depth_to_width: float, radius: float) -> StartingPoint:
    """What a user asks for, checked."""
    if not isinstance(block, ShapedBlock):
        raise ArgumentError("block", type(block).__name__, "a shaped block such as ShapedMLP or ShapedAttention")
    start = np.asarray(as_token_covariance(V0, "V0"))
    time = as_number(depth_to_width, "depth_to_width", low=0.0)
    if time == 0:
        raise DomainError("depth_to_width", time, "a positive number")
    norm = float(np.linalg.norm(start))
    radius = as_number(radius, "radius", low=0.0)
    if not norm < radius:
        raise DomainError("radius", radius, f"more than the norm of V0, {norm:.3g}")
    return StartingPoint(start, _factor(block, start), time, radius)


def _factor(block: ShapedBlock, V0: Float[np.ndarray, "m m"]) -> Float[np.ndarray, "m r"]:
    """$V_0 = FF^T$ with as many columns as $V_0$ has rank, or m if the kernel of an activation will fill the rest."""
    values, vectors = np.linalg.eigh(V0)
    kept = values > 8 * len(V0) * np.finfo(float).eps * max(values[-1], 0.0)
    if block.positive_drift(jnp.asarray(V0)) is not None or not kept.any():
        kept[:] = True
    return vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0))


def default_steps(block: ShapedBlock, V0: Float[np.ndarray, "m m"], time: float) -> int:
    r"""Steps of at most 0.01, and short enough that per step the noise, the growth at the start and its change are small:
    $\Delta\,(\kappa(m+1)/10 + \|b\|/\|V\| + 2\|\tfrac d{ds}\tfrac1sb(sV)\|/\|V\|) \le 0.1$ at $V_0$ and $s = 1$.

    Smooth activations have no drift where norms are one, yet may pull them back or drive them away at any rate."""
    V = jnp.asarray(V0)
    norm = float(jnp.linalg.norm(V))
    rate = float(block.value_noise) * (len(V0) + 1) / 10
    if norm > 0:
        low, here, high = (block.drift_inside(s * V) / s for s in (1 - _NEARBY, 1.0, 1 + _NEARBY))
        rate += float(jnp.linalg.norm(here) + jnp.linalg.norm(high - low) / _NEARBY) / norm
    shortest = min(_LONGEST_DEFAULT_STEP, _DEFAULT_RATE / rate) if rate > 0 else _LONGEST_DEFAULT_STEP
    return max(1, math.ceil(time / min(shortest, float(block.largest_step)) - 1e-9))
