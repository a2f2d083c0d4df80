"""Layers that are all alike, with fluctuations in units of their common width."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import is_traced
from ..._errors import DomainError
from ..._memory import check_layers
from ..._validation import as_count, as_number, per_layer
from ...networks import Layer


def equal_layers(depth: int, C_b: Any, C_W: Any, lambda_b: Any = 0.0, lambda_W: Any = 0.0) -> Layer:
    r"""`depth` layers, stacked, with $n = 1$: what they add to a covariance is then $n$ times it. Rates may differ by layer."""
    check_layers(depth)
    values = C_b, C_W, lambda_b, lambda_W, 1.0
    of = jnp if is_traced(values) else np
    return Layer(*(of.broadcast_to(of.asarray(value, float), (depth,)) for value in values))


def as_one_input(
    K1: Any, depth: Any, C_b: Any, C_W: Any, lambda_b: Any, lambda_W: Any
) -> tuple[Float[Array, ""], Layer]:
    r"""What a caller says of one input and its layers, checked: its first kernel, $K^{(1)} = C_b + C_W|x|^2/n_0$, and `equal_layers`."""
    first, layers = as_number(K1, "K1", low=np.finfo(float).tiny), as_count(depth, "depth")
    bias, weight = as_number(C_b, "C_b", low=0.0), as_number(C_W, "C_W", low=np.finfo(float).tiny)
    if first < bias:
        raise DomainError("K1", f"{first:g}", f"at least C_b = {bias:g}, since K1 = C_b + C_W |x|^2/n_0")
    rates = per_layer(lambda_b, "lambda_b", layers), per_layer(lambda_W, "lambda_W", layers)
    return np.asarray(first), equal_layers(layers, bias, weight, *rates)
