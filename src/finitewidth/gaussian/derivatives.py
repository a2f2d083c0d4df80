"""Derivatives of elementwise functions, as functions and at many points."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._compile import compiled_in_haste
from .._entry import entry

ElementwiseFunction = Callable[[Array], Array]

ORDERS = 6  # the function and five derivatives: kinks, series at zero and most averages ask for no more
_BATCH = 4096  # points at once: one shape, whatever is asked


def _ones_beside(z: Array) -> np.ndarray:
    """A unit tangent at each point, of NumPy's: JAX would compile a program to make one."""
    return np.ones(jnp.shape(z), jnp.result_type(z))


def differentiate(function: ElementwiseFunction) -> ElementwiseFunction:
    """The derivative of an elementwise function, itself elementwise."""

    def derivative(z: Array) -> Array:
        return jax.jvp(function, (z,), (_ones_beside(z),))[1]

    return derivative


def with_derivatives(function: ElementwiseFunction, order: int) -> Callable[[Array], list[Array]]:
    """The function and all its derivatives up to `order`: much shorter programs than one after another."""
    if order == 0:
        return lambda z: [function(z)]
    lower = with_derivatives(function, order - 1)

    def values(z: Array) -> list[Array]:
        known, raised = jax.jvp(lower, (z,), (_ones_beside(z),))
        return [*known, raised[-1]]

    return values


@entry(nan=True)
def sampled(
    value: ElementwiseFunction, z: Float[np.ndarray, " n"], orders: int = ORDERS
) -> Float[np.ndarray, "orders n"]:
    """The function and its derivatives at each point, `orders` rows in all; kinks are not looked at. Who asks for the usual number of them
    shares a program."""
    if len(z) == 0:
        return np.empty((orders, 0))
    batches = -(-len(z) // _BATCH)
    padded = np.pad(z, (0, batches * _BATCH - len(z))).reshape(batches, _BATCH)
    program = _program(value, orders)
    return np.concatenate([np.asarray(program(batch)) for batch in padded], axis=1)[:, : len(z)]


def evaluated(value: ElementwiseFunction, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """The function alone, whose derivatives may not be to be had."""
    return sampled(value, z.ravel(), orders=1)[0].reshape(z.shape)


@functools.lru_cache(maxsize=512)
def _program(value: ElementwiseFunction, orders: int) -> ElementwiseFunction:
    return compiled_in_haste(light=5000)(lambda z: jnp.stack(with_derivatives(value, orders - 1)(z)))
