"""Every layer of a recursion."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp

State = TypeVar("State")
Layer = TypeVar("Layer")


def every_layer(step: Callable[[State, Layer], State], first: State, layers: Layer) -> State:
    """The states of all layers along a new first axis: `first`, then one `step` for each entry of `layers`."""

    def layer(state: State, of_layer: Layer) -> tuple[State, State]:
        new = step(state, of_layer)
        return new, new

    later = jax.lax.scan(layer, first, layers)[1]
    return jax.tree.map(lambda one, rest: jnp.concatenate([one[None], rest]), first, later)
