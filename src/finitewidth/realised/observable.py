"""What one may ask of the neurons of a layer."""

from collections.abc import Callable

from jaxtyping import Float

from .._arrays import Array

Observable = Callable[[Float[Array, "samples neurons"]], Array]
"""A function of the preactivations of one layer, one sample a row as inputs are, to a number or an array."""
