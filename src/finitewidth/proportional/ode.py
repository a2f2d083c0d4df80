"""Deterministic limits, integrated."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Float

from .._arrays import Array

_ERROR = 1e-12  # of a step, relative
_MOST_ATTEMPTS = 100_000  # in one interval


def runge_kutta(
    rate: Callable[[Array], Array], start: Float[Array, "*s"], time: Array | float, steps: int
) -> Float[Array, "{steps}+1 *s"]:
    r"""$\dot y = f(y)$ from `start` to `time` in equal steps of the classical method of order four; all of them, the start
    included."""
    h = time / steps

    def advance(y: Array, _: None) -> tuple[Array, Array]:
        y = _step(rate, y, h)
        return y, y

    return jnp.concatenate([start[None], lax.scan(advance, start, length=steps)[1]])


def _step(rate: Callable[[Array], Array], y: Array, h: Array | float) -> Array:
    k1 = rate(y)
    k2 = rate(y + h / 2 * k1)
    k3 = rate(y + h / 2 * k2)
    k4 = rate(y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


class _Solution(NamedTuple):
    y: Array
    time: Array
    h: Array
    attempts: Array
    lost: Array


def followed(
    rate: Callable[[Array], Array], start: Float[Array, "*s"], time: Array | float, intervals: int, largest: float
) -> Float[Array, "{intervals}+1 *s"]:
    r"""$\dot y = f(y)$ from `start` to `time`, seen after equal intervals, the start included; NaN from where the norm exceeds
    `largest` or steps become too many.

    The classical method of order four; two half steps are compared with a whole one, whose length follows from that."""
    length = jnp.asarray(time / intervals, start.dtype)

    def on_its_way(now: _Solution) -> Array:
        return (now.time < length) & ~now.lost

    def attempt(now: _Solution) -> _Solution:
        h = jnp.minimum(now.h, length - now.time)
        whole, halves = _step(rate, now.y, h), _step(rate, _step(rate, now.y, h / 2), h / 2)
        size = jnp.maximum(jnp.linalg.norm(halves), jnp.linalg.norm(now.y))
        error = jnp.linalg.norm(halves - whole) / jnp.where(size > 0, size, 1.0) / 15
        error = jnp.where(jnp.isfinite(error), error, jnp.inf)
        good = error <= _ERROR
        change = jnp.clip(0.9 * (_ERROR / jnp.maximum(error, 1e-30)) ** 0.2, 0.1, 4.0)
        y = jnp.where(good, halves, now.y)
        arrived = good & (h >= length - now.time)
        spent = now.attempts >= _MOST_ATTEMPTS
        return _Solution(
            y,
            jnp.where(arrived, length, now.time + jnp.where(good, h, 0.0)),
            jnp.where(arrived & (change >= 1), jnp.maximum(now.h, h * change), h * change),
            now.attempts + 1,
            ~(jnp.linalg.norm(y) <= largest) | spent,
        )

    def interval(carried: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], Array]:
        y, h, lost = carried
        zero = jnp.zeros((), start.dtype)
        end = lax.while_loop(on_its_way, attempt, _Solution(y, zero, h, jnp.zeros((), int), lost))
        return (end.y, end.h, end.lost), jnp.where(end.lost, jnp.nan, end.y)

    first = (start, length, jnp.asarray(False))
    return jnp.concatenate([start[None], lax.scan(interval, first, length=intervals)[1]])
