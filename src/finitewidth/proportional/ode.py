"""Deterministic limits, integrated."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax
from jaxtyping import Float

from .._arrays import Array


def runge_kutta(
    rate: Callable[[Array], Array], start: Float[Array, "*s"], time: Array | float, steps: int
) -> Float[Array, "{steps}+1 *s"]:
    r"""$\dot y = f(y)$ from `start` to `time` in equal steps of the classical method of order four; all of them, the start
    included."""
    h = time / steps

    def advance(y: Array, _: None) -> tuple[Array, Array]:
        k1 = rate(y)
        k2 = rate(y + h / 2 * k1)
        k3 = rate(y + h / 2 * k2)
        k4 = rate(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, y

    return jnp.concatenate([start[None], lax.scan(advance, start, length=steps)[1]])
