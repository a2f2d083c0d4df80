"""`feature_learning_sde`: what training does to features when depth is proportional to width, as a law one can sample."""

import math
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from ..._arrays import Array
from ..._entry import entry, warn
from ..._errors import DomainError
from ..._memory import check_memory
from ..._random import key_of
from ..._validation import as_count, as_number, as_seed
from ...networks.shaped import ShapedBlock
from ...networks.shaped.tokens import as_token_covariance
from ...results.feature_law import FeatureFields, FeatureLaw, as_targets, feature_law
from ...runs.lanes import lane_size
from ...runs.run import run
from ...runs.store import empty_store, put
from .coefficients import coefficients
from .path import Training, feature_paths

_MEMORY = 2**26  # bytes of paths that are integrated in one go
_MOST_ROWS = 1024
_LONGEST_STEP, _FEWEST_STEPS = 0.0025, 40
_SAVED = 20


@entry()
def feature_learning_sde(
    block: ShapedBlock,
    V0: Any,
    depth_to_width: float,
    targets: Any = None,
    paths: int = 4096,
    seed: int = 0,
    steps: int | None = None,
    save: int | None = None,
    rate: float = 1.0,
    outputs: int | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> FeatureLaw:
    r"""Sample the joint law of features, gradients and what the first instant of training does to both (lecture 19).

    Features $\Phi$ are followed forward in depth, outputs $f \sim N(0, \Phi_T)$ drawn, gradients $G$ and $Q$ followed backward; then, with
    targets, the velocities that gradient flow at rate $\eta_0/d$ gives to features, forward again along the increments already drawn.

    **Arguments:**

    - `block`: a `ShapedMLP`; without targets also a `ShapedResNet`.
    - `V0`: the covariance of the inputs, $\langle x^\alpha, x^\beta\rangle/n_0$, shape (m, m).
    - `depth_to_width`: $T = d/n$.
    - `targets`: $y$, shape (m,), or (m, outputs) for several outputs; the loss is $\tfrac12(f - y)^2$. Without, only $\Phi$, $f$, $G$,
      $Q$ and the tangent kernel are sampled.
    - `seed`: path $i$ of a seed is the same path whatever the number of paths.
    - `steps`: steps in depth time; by default 40, or steps of 0.0025. The scheme is of weak order one. With as many steps as networks have
      layers the two are most alike.
    - `save`: the number of equal intervals of depth after each of which fields are kept, by default 20; the number of steps is
      rounded up to a multiple of it.
    - `rate`: $\eta_0$.
    - `outputs`: how many, if there are no targets.
    - `progress`: a progress bar on standard error; by default for long runs in a terminal.
    - `checkpoint`: a file to which the run is written as it goes, and from which a killed run resumes.

    All paths are kept. $G$ and $K$ stay positive semi-definite; the sum rule $S_T^{\alpha\beta} = \dot f^\alpha$ and
    $\dot f = \overline\Theta\delta$ hold to rounding, the former to about 1e-6 if the activation is odd.

    Examples:
        >>> block = fw.ShapedMLP(fw.shaped.shaped_relu(1.0, -1.0))
        >>> law = fw.feature_learning_sde(block, fw.shaped.equal_tokens(2, 0.3), 0.2, targets=[1.0, -0.5], paths=8, steps=4)
        >>> law.velocity.shape
        (8, 5, 2, 2)
        >>> bool(np.allclose(law.S[:, -1, 0, 1], law.f_dot[:, 0]))
        True
    """
    start = np.asarray(as_token_covariance(V0, "V0"))
    if not np.diagonal(start).min() > 0:
        raise DomainError("V0", "an input of norm zero", "inputs that are not zero")
    time = as_number(depth_to_width, "depth_to_width", low=0.0)
    if time == 0:
        raise DomainError("depth_to_width", time, "a positive number")
    paths, seed, rate = as_count(paths, "paths"), as_seed(seed), as_number(rate, "rate")
    wanted, outputs = as_targets(targets, outputs, len(start))
    of = coefficients(block, trained=wanted is not None)
    if steps is None:
        steps = max(_FEWEST_STEPS, math.ceil(time / _LONGEST_STEP))
    steps = as_count(steps, "steps")
    saved = min(_SAVED if save is None else as_count(save, "save"), steps)
    steps = -(-steps // saved) * saved
    at = np.arange(saved + 1) * (steps // saved)

    m, p = len(start), len(start) * outputs
    numbers = (steps + 1) * (m * m * p + 6 * p * p + 6 * m * p) + 8 * (m * p) ** 2
    lane = min(_MOST_ROWS, lane_size(numbers, paths, _MEMORY))
    kept = paths * (saved + 1) * (3 * m * m + p * p + 2 * m * p)
    check_memory(8.0 * (lane * numbers + kept), "steps", f"{steps} and {paths} paths", "fewer steps, inputs or paths")
    training = None if wanted is None else Training(jnp.asarray(wanted), jnp.asarray(rate))
    key = key_of(seed)

    def lane_from(first: Int[Array, ""] | int) -> FeatureFields:
        return feature_paths(of, jnp.asarray(start), time, training, jnp.asarray(at), key, first, steps, outputs, lane)

    found = run(
        lambda store, first: put(store, first, lane_from(first)),
        empty_store(jax.eval_shape(lane_from, 0), paths, "paths"),
        total=paths,
        lane=lane,
        problem=("features", block, start, time, wanted, outputs, rate, paths, seed, steps, at),
        chunk_size=lane,
        checkpoint=checkpoint,
        progress=progress,
        things="paths",
    )
    if (share := float(np.mean(found.stopped))) > 0:
        warn(
            f"feature_learning_sde: the covariance of {share:.1%} of the paths left the range in which it can be followed and was held "
            "there. Ask for a shorter `depth_to_width`, a weaker shaping or smaller inputs."
        )
    return feature_law(
        found, block=block, times=at * (time / steps), targets=wanted, depth_to_width=time, rate=rate, seed=seed,
        method="geodesic", steps=steps,
    )  # fmt: skip
