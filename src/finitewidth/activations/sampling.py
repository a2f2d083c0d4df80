"""What an elementwise function is like at many points: its values and slopes, and its size."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._compile import compiled_in_haste
from .._entry import entry
from ..gaussian.derivatives import sampled


@functools.lru_cache(maxsize=128)
def _slope_program(value: Callable[[Array], Array]) -> Callable[[Array], tuple[Array, Array]]:
    return compiled_in_haste()(lambda z: jax.jvp(value, (z,), (jnp.ones_like(z),)))


@entry()
def values_and_slopes(
    value: Callable[[Array], Array], z: Float[np.ndarray, "*shape"]
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """The function and its slope at each of many points."""
    found, slope = _slope_program(value)(jnp.asarray(z))
    return np.asarray(found), np.asarray(slope)


_RADII = 2.0 ** np.arange(-1, 14)
_PROBES = np.linspace(-1.0, 1.0, 65)


@functools.lru_cache(maxsize=128)
def size(value: Callable[[Array], Array]) -> float:
    """The largest value near zero, on the smallest of several intervals on which the function is not zero; 1 for the zero
    function. What is negligible is negligible relative to it."""
    values = np.abs(sampled(value, np.outer(_RADII, _PROBES).ravel())[0]).reshape(len(_RADII), -1).max(axis=1)
    visible = values[(values > 0) & np.isfinite(values)]
    return float(visible[0]) if len(visible) else 1.0
