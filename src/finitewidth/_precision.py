"""Top-level calls compute in float64 whatever the caller's global setting."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import jax
import numpy as np
from jax.core import Tracer

from ._errors import ArgumentError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def in_float64(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Run `function` with 64-bit JAX types and leave the global setting as it was.

    Arguments that are being traced belong to a computation of the caller's, whose backward pass would run outside this
    call: then the caller must have switched 64-bit types on, and is told so.
    """

    @functools.wraps(function)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if jax.dtypes.canonicalize_dtype(float) == np.float64:
            return function(*args, **kwargs)
        if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((args, kwargs))):
            raise ArgumentError(
                "jax_enable_x64",
                f"a call of `{function.__name__}` under jit, vmap or grad in 32-bit mode",
                "64-bit mode around the whole computation: `with jax.enable_x64(True): ...`",
            )
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return wrapped


def to_numpy(result: Result) -> Result:
    """A pytree of results as NumPy arrays, which keep their 64 bits in any mode; untouched if it is being traced."""
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(result)):
        return result
    return jax.tree.map(np.asarray, result)
