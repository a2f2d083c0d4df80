"""Where a flow starts: from inputs, or from the first layer's kernel."""

from typing import Any

from jaxtyping import Float

from .._arrays import Array
from .._errors import ArgumentError
from .._validation import as_covariance
from ..networks import LayeredNetwork, as_layered


def first_kernel(net: LayeredNetwork, x: Any, kernel: Any) -> Float[Array, "N N"]:
    """The first layer's kernel from inputs, or the one that is given."""
    as_layered(net)
    if (x is None) == (kernel is None):
        got = f"{'neither' if x is None else 'both'} of `x` and `kernel`"
        raise ArgumentError("x", got, "either inputs or a first-layer kernel")
    return net.first_kernel(x) if kernel is None else as_covariance(kernel, "kernel")


def first_overlap(net: LayeredNetwork, x: Any, K1: Float[Array, "N N"]) -> Float[Array, "N N"]:
    """The overlaps of the inputs; read off the first kernel, which loses digits, only where there are no inputs."""
    return net.overlap_behind(K1) if x is None else net.overlap(x)
