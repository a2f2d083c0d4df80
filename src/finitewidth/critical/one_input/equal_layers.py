"""Layers that are all alike, with fluctuations in units of their common width."""

from typing import Any

import jax.numpy as jnp

from ...networks import Layer


def equal_layers(depth: int, C_b: Any, C_W: Any, lambda_b: Any = 0.0, lambda_W: Any = 0.0) -> Layer:
    r"""`depth` layers, stacked, with $n = 1$: what they add to a covariance is then $n$ times it. Rates may differ by layer."""
    return Layer(
        *(jnp.broadcast_to(jnp.asarray(value, float), (depth,)) for value in (C_b, C_W, lambda_b, lambda_W, 1.0))
    )
