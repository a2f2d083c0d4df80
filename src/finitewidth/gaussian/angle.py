r"""Angles, several times as fast as the compiler's own: they are what closed-form kernels spend their time on.

The rational approximation is that of the Cephes library (S. Moshier), to a unit of rounding at angles of every size.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array

_NUMERATOR = (
    -8.750608600031904122785e-1,
    -1.615753718733365076637e1,
    -7.500855792314704667340e1,
    -1.228866684490136173410e2,
    -6.485021904942025371773e1,
)
_DENOMINATOR = (
    1.0,
    2.485846490142306297962e1,
    1.650270098316988542046e2,
    4.328810604912902668951e2,
    4.853903996359136964868e2,
    1.945506571482613964425e2,
)
_FLAT, _STEEP = 0.66, 1 + math.sqrt(2)  # slopes between which the angle is counted from a diagonal
_QUARTER_TURN_BEYOND = 6.123233995736765886130e-17  # what the floating-point number of pi/2 leaves out
_ROUNDINGS = 8


def correlation(covariance: Array, scale: Array) -> Array:
    r"""$\rho$ = `covariance` / `scale` in $[-1, 1]$. What is $\pm1$ to rounding is $\pm1$: an angle is the root of its rounding
    error, so that copies of one input would be an angle of $10^{-8}$ apart."""
    rho = covariance / scale
    coincident = jnp.abs(covariance) >= (1 - _ROUNDINGS * jnp.finfo(rho.dtype).eps) * scale
    return jnp.where(coincident, jnp.sign(covariance), rho)


def sine(rho: Float[Array, "..."]) -> Float[Array, "..."]:
    """The sine of the angle whose cosine is `rho`."""
    return jnp.sqrt((1.0 - rho) * (1.0 + rho))


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    total = jnp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total


@jax.custom_jvp
def angle(opposite: Float[Array, "..."], adjacent: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""`arctan2(opposite, adjacent)`, elementwise, for finite numbers that are not both zero."""
    y, x = jnp.abs(opposite), jnp.abs(adjacent)
    flat, steep = y <= _FLAT * x, y > _STEEP * x
    above = jnp.where(flat, y, jnp.where(steep, -x, y - x))
    along = jnp.where(flat, x, jnp.where(steep, y, y + x))
    slope = above / along
    square = slope * slope
    rest = slope * square * (_polynomial(_NUMERATOR, square) / _polynomial(_DENOMINATOR, square))
    quarter_turns = jnp.where(flat, 0.0, jnp.where(steep, 1.0, 0.5))
    within = math.pi / 2 * quarter_turns + (slope + (rest + _QUARTER_TURN_BEYOND * quarter_turns))
    turned = jnp.where(adjacent < 0, math.pi - within, within)
    return jnp.where(opposite < 0, -turned, turned)


@angle.defjvp
def _angle_jvp(primals, tangents):
    (y, x), (dy, dx) = primals, tangents
    return angle(y, x), (x * dy - y * dx) / (x * x + y * y)


@jax.custom_jvp
def arcsine(x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""$\arcsin x$ for $-1\le x\le 1$, elementwise."""
    return angle(x, sine(x))


@arcsine.defjvp
def _arcsine_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return arcsine(x), dx / sine(x)
