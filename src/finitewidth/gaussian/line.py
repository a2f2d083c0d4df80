r"""Averages over one Gaussian variable, $\langle f\rangle_K = \int dz\,e^{-z^2/2K} f(z)/\sqrt{2\pi K}$, PDLT (1.68).

One rule serves every variance: the nodes cluster where either scale lives, that of the Gaussian ($\sqrt K$) or that
of the function (order one, around zero and around its kinks), so that it neither aliases at large $K$ nor cancels at
small $K$. All rules are exact to rounding for functions analytic between their kinks, and remain so under `grad`.
"""

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .derivatives import differentiate
from .places import OWN_SCALE, Places

_REACH = 13.0  # standard deviations: exp(-13**2 / 2) = 2e-37
_SMOOTH_NODES = 257
_PANEL_NODES = 161
_BESIDE = 8.0  # times a steep function's scale: so far from a place it has come to rest
_PANEL_REACH = 3.6  # tanh-sinh parameter at which the weights have fallen below rounding


def _smooth_rule(K: Array, own_scale: float) -> tuple[Array, Array]:
    r"""Nodes and weights (without the Gaussian) of the trapezoid rule in $s$, $z = a\sinh s$, $a$ the smaller of $\sqrt K$ and one,
    or the function's own scale if that is below one."""
    scale = jnp.minimum(min(1.0, own_scale), jnp.sqrt(K))
    reach = jnp.arcsinh(_REACH * jnp.sqrt(K) / scale)
    s = reach[..., None] * np.linspace(-1.0, 1.0, _SMOOTH_NODES)
    step = 2.0 * reach[..., None] / (_SMOOTH_NODES - 1)
    return scale[..., None] * jnp.sinh(s), step * scale[..., None] * jnp.cosh(s)


def tanh_sinh(nodes: int, reach: float = _PANEL_REACH) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The double-exponential rule on [0, 1]: distances from the left end, from the right end, and weights.

    Both distances are given because near an end the other one loses all its digits.
    """
    t = np.linspace(-reach, reach, nodes)
    left = 1.0 / (1.0 + np.exp(-math.pi * np.sinh(t)))
    right = 1.0 / (1.0 + np.exp(math.pi * np.sinh(t)))
    return left, right, (t[1] - t[0]) * math.pi * np.cosh(t) * left * right


def _panel_rule(K: Array, places: Places) -> tuple[Array, Array]:
    """Tanh-sinh nodes and weights on each panel between neighbouring places, zero and the ends of the line.

    Zero is an edge too: when the kinks are many deviations away, the nodes must still find the Gaussian's centre. So are points
    beside the places of a steep function.
    """
    end = _REACH * jnp.sqrt(K)
    away = _BESIDE * places.scale
    beside = [point + sign * away for point in places.points for sign in (-1, 1) if places.scale < OWN_SCALE]
    inner = [jnp.clip(jnp.full_like(end, edge), -end, end) for edge in sorted({0.0, *places.points, *beside})]
    edges = jnp.stack([-end, *inner, end], axis=-1)
    left, right, weights = tanh_sinh(_PANEL_NODES)
    low, high = edges[..., :-1, None], edges[..., 1:, None]
    z = jnp.where(left < 0.5, low + (high - low) * left, high - (high - low) * right)
    shape = (*edges.shape[:-1], -1)
    return z.reshape(shape), ((high - low) * weights).reshape(shape)


def line_rule(
    K: Array, kinks: tuple[float, ...] = (), places: Places | None = None
) -> tuple[Float[Array, "*K q"], Float[Array, "*K q"]]:
    r"""Nodes $z_q$ and weights $w_q$ with $\sum_q w_q f(z_q) = \langle f\rangle_K$, for each variance in `K`.

    A function that is steep says so by its `places`; otherwise it varies on a scale of order one.
    """
    around = places or Places(kinks or (0.0,))
    if kinks or any(around.points):
        z, weights = _panel_rule(K, around)
    else:
        z, weights = _smooth_rule(K, around.scale)
    density = jnp.exp(-(z**2) / (2 * K[..., None])) / jnp.sqrt(2 * math.pi * K[..., None])
    return z, weights * density


def line_average(
    function: Callable[[Array], Array], K: Array, kinks: tuple[float, ...] = (), places: Places | None = None
) -> Float[Array, "*K"]:
    r"""$\langle f(z)\rangle_K$ for each positive variance in `K`, for `function` analytic between its `kinks`; `places` as for
    `line_rule`.
    """
    z, weights = line_rule(jnp.asarray(K), kinks, places)
    return jnp.sum(weights * function(z), axis=-1)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2, 3))
def line_derivative(
    function: Callable[[Array], Array], kinks: tuple[float, ...], places: Places | None, order: int, K: Array
) -> Float[Array, "*K"]:
    r"""$\partial_K^n\langle f(z)\rangle_K$ of an `order` n, right across kinks and jumps, for the nodes stay between them as they move.

    Functions are differentiated in forward mode alone, in `grad` too: backwards, `jnp.where(z > 0, jnp.sqrt(z), 0)` is NaN below zero.
    """
    average: Callable[[Array], Array] = functools.partial(line_average, function, kinks=kinks, places=places)
    for _ in range(order):
        average = differentiate(average)
    return average(K)


@line_derivative.defjvp
def _raise_derivative(function, kinks, places, order, primals, tangents):
    (K,), (dK,) = primals, tangents
    value, slope = (line_derivative(function, kinks, places, order + more, K) for more in (0, 1))
    return value, slope * dK
