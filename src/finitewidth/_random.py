"""Random keys of seeds."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Key

from ._arrays import Array


def key_of(seed: int) -> Key[Array, ""]:
    """That of `jax.random.key`, and of JAX's default kind, whatever kind the user prefers: the two halves of the seed, for which no
    program has to be compiled."""
    halves = jnp.asarray(np.array(divmod(seed, 2**32), dtype=np.uint32))
    return jax.random.wrap_key_data(halves, impl="threefry2x32")
