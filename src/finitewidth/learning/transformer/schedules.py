"""How shaping changes while a model trains."""

from collections.abc import Callable

import jax.numpy as jnp

from ..._arrays import Array
from ..._validation import as_count

Schedule = Callable[[Array], Array]
"""From the step to the share of the shaping that is left."""


def recover(steps: int = 4000) -> Schedule:
    r"""*Recover* (Shaped Transformer App. D): $\gamma_1$, $\gamma_2$ and $s_-$ fall linearly to zero over the first `steps` steps,
    after which a plain Transformer without normalisation layers remains."""
    steps = as_count(steps, "steps")
    return lambda step: jnp.maximum(0.0, 1 - step / steps)
