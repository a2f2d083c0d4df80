"""Inputs that a network can take, refused by the name under which they were given."""

from typing import Any

import numpy as np
from jaxtyping import Float

from .._errors import ArgumentError, named
from .._validation import as_inputs
from ..networks import LayeredNetwork, ResidualMLP


def as_samples(net: LayeredNetwork, x: Any, argument: str) -> Float[np.ndarray, "N n_0"]:
    """Inputs with one sample a row, whose first kernel is neither zero nor infinite."""
    if x is None:
        raise ArgumentError(argument, "nothing", "inputs, one sample a row")
    inputs = np.asarray(as_inputs(x, argument, net.widths[0]))
    with np.errstate(over="ignore"):
        sizes = np.sum(inputs**2, axis=1)
    with named(x=argument):  # which of train and test it was is not known to whoever sees both
        net.first_kernel(inputs[[sizes.argmin(), sizes.argmax()]])
    return inputs


def reading(net: LayeredNetwork, x: Any, argument: str) -> LayeredNetwork:
    """The network for inputs such as `x`: one that left the number of features open takes theirs."""
    with named(x=argument):
        return net if x is None else net.reading(x)


def outputs_of(net: LayeredNetwork) -> int | None:
    """How many outputs targets must have; any number where there is no readout, for at infinite width neurons are alike."""
    return None if isinstance(net, ResidualMLP) and net.outputs is None else net.widths[-1]
