"""Averages of any function of two nearly equal Gaussian variables."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._validation import as_elementwise, as_floats
from ...gaussian.line import line_average

PairFunction = Callable[[Array, Array], Array]


def _along(function: PairFunction, plus: float, minus: float) -> PairFunction:
    r"""The derivative along the direction `(plus, minus)` of $(z_+, z_-)$."""

    def derivative(z_plus: Array, z_minus: Array) -> Array:
        tangents = (jnp.full_like(z_plus, plus), jnp.full_like(z_minus, minus))
        return jax.jvp(function, (z_plus, z_minus), tangents)[1]

    return derivative


@entry()
def near_coincidence_average(
    function: PairFunction,
    K_00: Float[Array, "*K"] | float | Any,
    delta_K_1: Float[Array, "*K"] | Any,
    deltadelta_K_0: Float[Array, "*K"] | Any,
    deltadelta_K_2: Float[Array, "*K"] | Any,
) -> Float[Array, "*K"]:
    r"""$\langle F(z_+, z_-)\rangle_K$ to second order in the difference, for smooth $F$, PDLT (5.39):

    $$\langle F\rangle_{K_{00}} + \tfrac{\delta K_{[1]}}{2K_{00}}\langle z_0\,\partial_{w}F\rangle
      + \tfrac{\delta\delta K_{[0]}}{2K_{00}}\langle z_0\,\partial_uF\rangle + \tfrac12\Big\langle\Big[\delta\delta
      K_{[2]} + \big(\tfrac{\delta K_{[1]}}{2K_{00}}\big)^2(z_0^2-K_{00})\Big]\partial_w^2F\Big\rangle,$$

    with $\partial_u = \partial_++\partial_-$, $\partial_w = \partial_+-\partial_-$, all at $z_+ = z_- = z_0$.

    Examples:
        >>> round(float(fw.critical.near_coincidence_average(lambda a, b: a * b, 1.0, 0.0, 0.0, 0.1)), 6)
        0.9
    """
    as_elementwise(function, "function", of=2)
    first = _along(function, 1.0, -1.0)
    second = _along(first, 1.0, -1.0)
    total = _along(function, 1.0, 1.0)

    variance = as_floats(K_00, "K_00")
    given = {"delta_K_1": delta_K_1, "deltadelta_K_0": deltadelta_K_0, "deltadelta_K_2": deltadelta_K_2}
    differences = [as_floats(value, name) for name, value in given.items()]

    def integrand(z: Array) -> Array:
        K, tilt, scale, spread = (jnp.asarray(part)[..., None] for part in (variance, *differences))
        slope = tilt / (2 * K)
        shift = slope * z * first(z, z) + scale / (2 * K) * z * total(z, z)
        return function(z, z) + shift + (spread + slope**2 * (z**2 - K)) * second(z, z) / 2

    return line_average(integrand, variance)
