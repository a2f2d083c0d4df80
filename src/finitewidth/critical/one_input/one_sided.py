"""Values and derivatives of an activation just right and just left of a point."""

import jax.numpy as jnp
from jaxtyping import Float

from ..._arrays import Array
from ...activations import Activation

_BESIDE = 1e-12


def one_sided(
    activation: Activation, order: int, at: Float[Array, " points"]
) -> tuple[Float[Array, " points"], Float[Array, " points"]]:
    """The `order`-th derivative as `at` is approached from the right and from the left.

    Read a little beside the point and carried back along the next derivative: the distance does not show.
    """

    def limit(near: Array) -> Array:
        return activation.derivative(order)(near) - (near - at) * activation.derivative(order + 1)(near)

    step = _BESIDE * jnp.maximum(1.0, jnp.abs(at))
    return limit(at + step), limit(at - step)
