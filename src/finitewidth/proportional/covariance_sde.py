r"""Paths of the covariance SDE $dV = b(V)\,dt + \Sigma(V)^{1/2}dB$, the limit of networks as deep as wide."""

import os
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .._arrays import Array, at_hand
from .._compile import long_run
from .._entry import entry, warn
from .._errors import ArgumentError, BlowUpError, DomainError
from .._random import key_of
from .._validation import as_count, as_number, as_seed
from ..networks.shaped import ShapedBlock
from ..networks.shaped.tokens import as_token_covariance
from ..results import CovarianceLaw, PathStatus
from ..runs.lanes import lane_size
from ..runs.queue import Rows, drain
from ..runs.run import run
from ..runs.saved import saved_intervals
from ..runs.store import empty_store, put
from .dependence import dependence
from .integrators import as_scheme
from .path import Integration
from .scheme import Scheme
from .step_size import default_steps, step_rule

_MEMORY = 2**26  # bytes of paths that are integrated in one go
# Measured: for two tokens 64 take two thirds of the time that 256 take, for eight about as long. For 256 paths 32 are better: the fewer
# wait, the sooner slots stand empty beside the slowest.
_FEWEST_SLOTS, _MOST_SLOTS = 32, 64
_MOST_ROWS = 512  # paths of one go: runs of more paths than that share a program
_FEWEST_PLACES = 17  # depths for which there is room: runs that save fewer share a program
_LARGEST_RADIUS = 1e100  # cubes of larger numbers overflow
_MOST_STEPS = 100_000
_MOST_STEPS_FOR_EACH = 10
_MOST_UNRESOLVED = 0.01  # of the paths; with more a run is given up
# Steps of all paths, times the cube of their tokens: up to here a program that is not optimised takes at most 0.15 s longer to run, and at
# least 0.6 s less to compile. With fewer tokens than four a step takes as long as with four.
_SHORT_RUN, _FEWEST_TOKENS = 2**20, 4


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
    radius: float = 1e12,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    most_steps: int | None = None,
) -> CovarianceLaw:
    r"""Sample the law of the covariance of `block`'s tokens at every depth up to `depth_to_width` times the width.

    **Arguments:**

    - `V0`: the covariance of the inputs, $X_0X_0^{\mathsf T}/n$, shape (m, m); it may be singular.
    - `depth_to_width`: $T = d/n$ (with shaping exponents $p < 1/2$, $d/n^{2p}$).
    - `seed`: path $i$ of a seed is the same path, up to rounding, whatever the number of paths.
    - `steps`: integration steps of a path that moves slowly; by default those of `default_steps`. Where a path moves fast it
      takes shorter ones, in proportion. `step_advice` estimates the error they leave.
    - `save`: the number of equal intervals of depth after each of which covariances are kept; the number of steps is rounded
      up to a multiple of it. By default 50, or fewer where that would take more than a gigabyte.
    - `method`: `"exponential"` (positive, any block), `"kernel-wishart"` (positive, MLPs and ResNets with ReLU) or
      `"euler"` (leaves the cone).
    - `radius`: tokens are stopped when the Frobenius norm of $V$ reaches it (Shaped Transformer Def. 4.1): the limit of
      attention can explode in finite time, though no network does. Its cost grows with the logarithm of the radius.
    - `progress`: a progress bar on standard error; by default for long runs in a terminal.
    - `checkpoint`: a file to which the run is written as it goes, and from which a killed run resumes.
    - `most_steps`: a path that needs more is left unresolved; by default 100,000, or ten times `steps`.

    Paths that are stopped are kept, with their status and time. Only tokens that left the sphere are stopped, on it, and
    those that attend to them, where they are; tokens that do not depend on these go on.

    Examples:
        >>> block = fw.ShapedMLP()
        >>> law = fw.covariance_sde(block, fw.shaped.equal_tokens(2, 0.2), 0.25, paths=8, steps=4)
        >>> law.V.shape
        (8, 5, 2, 2)
    """
    begin = starting_point(block, V0, depth_to_width, radius)
    paths, seed = as_count(paths, "paths"), as_seed(seed)
    scheme = as_scheme(method)
    m = len(begin.V0)
    steps = default_steps(block, begin.V0, begin.time) if steps is None else as_count(steps, "steps")
    saved = saved_intervals(save, steps, 2 * paths, m)  # covariances and their factors
    steps = -(-steps // saved) * saved
    most = most_steps_of(most_steps, steps)
    times = np.arange(saved + 1) * (begin.time / saved)
    places = max(_FEWEST_PLACES, saved + 1)
    process = integration(scheme, block, begin, steps, np.pad(times, (0, places - saved - 1), mode="edge"), most)

    lane, key = min(_MOST_ROWS, lane_size(begin.V0.size * (saved + 16), paths, _MEMORY)), key_of(seed)
    unresolved = int(_MOST_UNRESOLVED * lane)

    def lane_from(first: Int[Array, ""] | int) -> Rows:
        found = at_hand(drain(process, key, first, lane, unresolved, places, slots(block, m, lane), lane))
        return found._replace(kept=found.kept[:, : saved + 1])

    def add_lane(store: Rows, first: int) -> Rows:
        found = lane_from(first)
        if np.sum(found.summary.status == PathStatus.UNRESOLVED) > unresolved:
            raise BlowUpError(too_many_steps("covariance_sde", f"more than {_MOST_UNRESOLVED:.0%}", most))
        return put(store, first, found)

    with long_run(paths * steps * max(m, _FEWEST_TOKENS) ** 3 > _SHORT_RUN):
        found = run(
            add_lane,
            empty_store(jax.eval_shape(lane_from, 0), paths, "paths"),
            total=paths,
            lane=lane,
            problem=(block, begin.V0, begin.time, begin.radius, paths, seed, method, steps, times, most),
            chunk_size=lane,
            checkpoint=checkpoint,
            progress=progress,
            things="paths",
        )
    law = _law(block, found, begin, times, depth_to_width=begin.time, seed=seed, method=method, steps=steps)
    if "unresolved" in law.counts:
        warn(too_many_steps("covariance_sde", str(law.counts["unresolved"]), most))
    return law


def slots(block: ShapedBlock, tokens: int, paths: int) -> int:
    """How many paths take their steps at the same time: few where numbers of steps differ, lest one that takes many keeps all
    the others waiting. They are the same where rates do not depend on norms, without attention and smooth activations."""
    alike = not block.mixings and jax.eval_shape(block.generator, jnp.eye(tokens)) is None
    return paths if alike else min(lane_size(16 * tokens**2, paths), max(_FEWEST_SLOTS, paths // 8), _MOST_SLOTS)


def most_steps_of(most_steps: int | None, steps: int) -> int:
    """The steps that a path may take: so many as asked for, or by default."""
    if most_steps is None:
        return max(_MOST_STEPS, _MOST_STEPS_FOR_EACH * steps)
    return as_count(most_steps, "most_steps", at_least=steps)


def too_many_steps(caller: str, how_many: str, most: int) -> str:
    """Which limit paths met, and what to do."""
    return (
        f"{caller}: {how_many} of the paths could not be followed in {most} steps (`most_steps`) and are unresolved. "
        "Ask for a smaller `radius`, a shorter `depth_to_width` or fewer `steps`, or allow more with `most_steps`."
    )


def _law(
    block: ShapedBlock, found: Rows, begin: "StartingPoint", times: Float[np.ndarray, " times"], **about: Any
) -> CovarianceLaw:
    factor, end = found.kept, found.summary
    factor[:, 0] = begin.factor
    for path in np.flatnonzero(end.places < len(times)):  # nothing moves after it was last seen
        factor[path, end.places[path] :] = factor[path, end.places[path] - 1]
    V = factor @ factor.swapaxes(-1, -2)
    V[:, 0] = begin.V0
    return CovarianceLaw(
        block=block,
        times=times,
        V=V,
        stopping_times=end.stopped_at.min(axis=1),
        status=end.status,
        factor=factor,
        exploded=end.exploded,
        token_stopping_times=end.stopped_at,
        steps_taken=end.number,
        **about,
    )


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
    radius = as_number(radius, "radius", low=0.0, high=_LARGEST_RADIUS)
    if not norm < radius:
        raise DomainError("radius", radius, f"more than the norm of V0, {norm:.3g}")
    return StartingPoint(start, _factor(block, start), time, radius)


def integration(
    scheme: Scheme,
    block: ShapedBlock,
    begin: StartingPoint,
    steps: int,
    times: Float[np.ndarray, " times"],
    most_steps: int,
) -> Integration:
    """A block's equation as paths integrate it in so many steps or more; refused where the scheme is not defined."""
    m, step = len(begin.V0), begin.time / steps
    scheme.check(block, m, step)
    rule = step_rule(step, begin.time / default_steps(block, begin.V0, begin.time))
    return Integration(
        scheme, block, begin.factor, rule, np.asarray(dependence(block, m)), times, np.asarray(begin.radius),
        np.asarray(most_steps),
    )  # fmt: skip


def _factor(block: ShapedBlock, V0: Float[np.ndarray, "m m"]) -> Float[np.ndarray, "m r"]:
    """$V_0 = FF^T$ with as many columns as $V_0$ has rank, or m if the kernel of an activation will fill the rest."""
    values, vectors = np.linalg.eigh(V0)
    kept = values > 8 * len(V0) * np.finfo(float).eps * max(values[-1], 0.0)
    if jax.eval_shape(block.positive_drift, V0) is not None or not kept.any():
        kept[:] = True
    return vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0))
