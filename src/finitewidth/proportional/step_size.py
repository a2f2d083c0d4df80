r"""How long a step may be: short where a path is fast, so that an explosion is followed and not jumped into.

Attention moves a covariance at rates that grow as $\|V\|^2$, smooth activations at rates that grow as $\|V\|$, and both may
explode in finite time. Steps in inverse proportion to the rates multiply a norm that explodes by about the same factor each:
their number grows with the logarithm of the radius, and the time they take adds up to that of the explosion.
"""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from .._arrays import Array, diagonal
from .._compile import compiled_in_haste
from .._errors import DomainError
from ..networks.shaped import ShapedBlock
from ..networks.shaped.block import Square

_TOLERANCE = 0.02  # the change accepted in a step of default length: relative for drifts, a variance for noise
_COARSEST, _FINEST = 0.2, 0.005  # of the same, however few steps were asked for, or many
_GROWTH = 0.25
_LONGEST_DEFAULT_STEP, _DEFAULT_RATE = 0.01, 0.05
_MOST_DEFAULT_STEPS = 100_000
_SMALL = 1e-8


class StepRule(eqx.Module):
    r"""Steps of equal length, shorter ones where the rates demand it: $\Delta = \min(\Delta_0, \epsilon(q)/q)$ at the rate $q$.

    A step that is too long by a fraction puts the clock of a path wrong by that fraction of $1/q$, the less the faster it
    is: $\epsilon(q) = \epsilon\,(q/q_0)^{1/4}$ beyond the rate $q_0 = \epsilon/\Delta_0$ at which steps begin to be shorter."""

    longest: Float[Array, ""]
    tolerance: Float[Array, ""]
    coarsest: Float[Array, ""]

    def doubled(self) -> "StepRule":
        """Twice as coarse in everything."""
        return StepRule(2 * self.longest, 2 * self.tolerance, 2 * self.coarsest)

    def at_most(self, block: ShapedBlock, V: Square, moving: Bool[Array, " m"]) -> Float[Array, ""]:
        """The longest step from `V`."""
        rate = fastest_rate(block, V, moving)
        first = self.tolerance / self.longest
        excess = jnp.maximum(rate / first, 1.0)
        tolerance = jnp.minimum(self.tolerance * excess**_GROWTH, self.coarsest)
        return jnp.where(rate > first, tolerance / jnp.maximum(rate, first), self.longest)


def step_rule(step: float, default: float) -> StepRule:
    """Where steps are `step` long and would by default be `default` long, rates are resolved in the same proportion."""
    tolerance = min(max(_TOLERANCE * step / default, _FINEST), _COARSEST)
    return StepRule(np.asarray(step), np.asarray(tolerance), np.asarray(_COARSEST))


def equal_parts(length: Array, longest: Array) -> Float[Array, ""]:
    """The first of the fewest equal parts of `length` that are no longer than `longest`."""
    return length / jnp.maximum(1.0, jnp.ceil(length / longest - 1e-9))


def fastest_rate(block: ShapedBlock, V: Square, moving: Bool[Array, " m"]) -> Float[Array, ""]:
    r"""How fast, per unit of depth time, the norm of some token that is `moving` changes: the largest of
    $$\frac{|CF|_\alpha + |(C - C_0)F|_\alpha}{|F|_\alpha} + \frac{P^{\alpha\alpha} + 4Q^{\alpha\alpha}}{V^{\alpha\alpha}},
      \qquad V = FF^{\mathsf T},\quad Q = b - P - CV - VC^{\mathsf T},$$
    with the generator $C$, $C_0$ its value at $V = 0$, the positive drift $P$ and what mixing adds, $Q$, of the block. The second
    term is what the first changes by as the norm does; four times the variance of $\log|F|$ is that of $\log V$."""
    V = jnp.where(moving[:, None] & moving, V, 0.0)
    norms = diagonal(V)
    C, growth, fluctuation = block.generator(V), block.positive_growth(V), block.mixing_growth(V)
    change = jnp.zeros_like(norms) if growth is None else growth
    if fluctuation is not None:
        change = change + 4 * jnp.maximum(fluctuation, 0.0)
    if C is not None:
        still = block.generator(jnp.zeros_like(V))
        assert still is not None
        change = change + jnp.sqrt(norms) * (_row_norms(C, V) + _row_norms(C - still, V))
    return jnp.max(jnp.where(moving & (norms > 0), change / jnp.where(norms > 0, norms, 1.0), 0.0))


def _row_norms(C: Square, V: Square) -> Float[Array, " m"]:
    r"""$|CF|_\alpha$, the root of $(CVC^{\mathsf T})^{\alpha\alpha}$."""
    return jnp.sqrt(jnp.maximum(jnp.sum((C @ V) * C, axis=1), 0.0))


@compiled_in_haste(light=5000)
def _size_of_drift(block: ShapedBlock, V: Square) -> Float[Array, ""]:
    return jnp.linalg.norm(block.drift_inside(V))


def default_steps(block: ShapedBlock, V0: Float[np.ndarray, "m m"], time: float) -> int:
    r"""Steps of at most 0.01, and short enough for what is lasting: $\Delta\,(\kappa(m+1)/10 + \|b\|/\|V\|) \le 0.05$ in
    the direction of $V_0$ as $\|V\| \to 0$, where the drift is linear.

    What grows with the norm passes, as paths relax or explode; there they shorten their steps themselves."""
    norm = float(np.linalg.norm(V0))
    rate = float(block.value_noise) * (len(V0) + 1) / 10
    if norm > 0:
        rate += float(_size_of_drift(block, V0 * (_SMALL / norm))) / _SMALL
    longest = min(_LONGEST_DEFAULT_STEP, _DEFAULT_RATE / rate) if rate > 0 else _LONGEST_DEFAULT_STEP
    steps = max(1, math.ceil(time / min(longest, float(block.largest_step)) - 1e-9))
    if steps > _MOST_DEFAULT_STEPS:
        got = f"None, for a block that moves so fast that it needs {steps:.2g} steps to a depth of {time:g} widths"
        raise DomainError("steps", got, "a number of your own, a shorter `depth_to_width` or a weaker shaping")
    return steps
