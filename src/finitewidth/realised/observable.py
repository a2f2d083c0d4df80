"""What one may ask of the neurons of a layer."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._errors import ArgumentError, ShapeError
from .._signature import type_of

Observable = Callable[[Float[Array, "samples neurons"]], Array]
"""A function of the preactivations of one layer, one sample a row as inputs are, to a number or an array."""


def check_observable(observable: Any, shape: tuple[int, int], argument: str) -> None:
    """An error that names the argument if it is no function, asks for samples or neurons that are not there, or returns no numbers.

    JAX clamps indices that are out of range and goes on; NumPy, on whose array the function is tried here, does not.
    """
    if not callable(observable):
        raise ArgumentError(argument, type_of(observable), "a function of one layer's preactivations")
    try:
        found = observable(np.full(shape, 0.5))
    except IndexError as error:
        got = f"a function that asks for entries that are not there ({error})"
        raise ShapeError(argument, got, f"a function of an array of shape {shape}: samples, neurons") from error
    except Exception as error:  # the caller's own function may raise anything
        got = f"a function that fails on an array of shape {shape} ({type(error).__name__}: {error})"
        raise ArgumentError(argument, got, "a function of one layer's preactivations, (samples, neurons)") from error
    if np.asarray(found).dtype.kind not in "biuf":
        raise ArgumentError(argument, f"a function that returns {type_of(found)}", "one that returns real numbers")
