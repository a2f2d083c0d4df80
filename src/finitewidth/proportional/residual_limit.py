r"""Residual networks with branches of weight $1/\sqrt d$: the limit is deterministic, for any activation and any $d/n$.

In $s = \ell/d \in [0, 1]$ the covariance obeys one of two equations,

$$\dot V = c\,E[\varphi\varphi^{\mathsf T}]_V - V\quad(\lambda^2 + \gamma^2 = 1),\qquad
  \dot V = E[\varphi\varphi^{\mathsf T}]_V\quad(\lambda = 1).$$
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array, diagonal
from .._compile import compiled_in_haste
from .._entry import entry
from .._errors import DomainError
from .._validation import as_count, as_covariance, as_number
from ..activations import Activation, as_activation
from ..gaussian.accuracy import gram_rule
from ..gaussian.pairs import PairRule, square_average
from ..kernels.kernel_map import gram
from .ode import runge_kutta

_LARGEST = 1e16  # norms: panels reach over so many scales


@entry()
def residual_ode(
    activation: str | Activation | Callable[[Array], Array],
    V0: Any,
    time: float = 1.0,
    steps: int = 100,
    normalised: bool = True,
) -> Float[np.ndarray, "{steps}+1 m m"]:
    r"""The covariance at equal steps of $s$ from 0 to `time` (1 is the output).

    - `normalised`: branches are multiplied by $\sqrt c$, $c = 1/E[\varphi(w)^2]$, and the shortcut by
      $\sqrt{1 - 1/d}$; norms of one stay one. Otherwise $h' = h + W\varphi(h)/\sqrt{dn}$ (lecture 17), and norms grow.

    Examples:
        >>> fw.proportional.residual_ode("tanh", fw.shaped.equal_tokens(2, 0.2), steps=4).shape
        (5, 2, 2)
    """
    phi = as_activation(activation)
    start = as_covariance(V0, "V0")
    if not (np.diagonal(np.asarray(start)) > 0).all():
        raise DomainError("V0", "a zero on the diagonal", "inputs that are not zero")
    if float(np.diagonal(np.asarray(start)).max()) > _LARGEST:
        raise DomainError(
            "V0", "norms too large for quadratures to follow in any time", f"a diagonal up to {_LARGEST:g}"
        )
    time, steps = as_number(time, "time", low=0.0), as_count(steps, "steps")
    strength = 1 / square_average(phi, jnp.ones(())) if normalised else jnp.ones(())
    # Norms grow by at most e^(strength * time) for activations that grow no faster than linearly.
    largest = float(jnp.max(diagonal(start))) * float(np.exp(min(float(strength) * time, 5.0)))
    rule = gram_rule(phi, largest)
    return np.asarray(_solve(phi, rule, start, strength, float(normalised), time, steps))


@compiled_in_haste(static_argnames=("activation", "steps"))
def _solve(
    activation: Activation,
    rule: PairRule,
    start: Float[Array, "m m"],
    strength: Float[Array, ""],
    loss: Float[Array, ""] | float,
    time: Float[Array, ""] | float,
    steps: int,
) -> Float[Array, "{steps}+1 m m"]:
    def rate(V: Array) -> Array:
        return strength * gram(activation, V, rule) - loss * V

    return runge_kutta(rate, start, time, steps)
