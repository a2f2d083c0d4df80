r"""Standard normal numbers, which is what sampling networks costs.

The Box-Muller transform makes two normals from one 64-bit word, $r\cos\theta$ and $r\sin\theta$ with
$r = \sqrt{-2\ln u}$: about twice as fast on a CPU as inverting the error function for each.
40 bits go to $u$, so that $|z| \le 7.5$ and moments are right to $10^{-12}$; 24 bits go to $\theta$, whose
equispaced values integrate any trigonometric polynomial of lower degree than $2^{24}$ exactly.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike
from jaxtyping import Float, Key, UInt64

from .._arrays import Array

# sin(pi t / 2) by its Taylor series: for |t| <= 1/2 the first term left out is below 5e-17.
_SINE = [(-1) ** k * (math.pi / 2) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(8)]
_EXPONENT_OF_ONE = 0x3FF << 52


@partial(jax.jit, static_argnames=("shape", "dtype"))
def standard_normals(
    key: Key[Array, ""], shape: tuple[int, ...], dtype: DTypeLike | None = None
) -> Float[Array, "..."]:
    """Independent standard normals; `dtype` is JAX's default float unless given."""
    dtype = jnp.dtype(dtype or jnp.result_type(float))
    if dtype != jnp.float64:
        return jax.random.normal(key, shape, dtype)
    size = math.prod(shape)
    words = jax.random.bits(key, ((size + 1) // 2,), jnp.uint64)
    return jnp.concatenate(_box_muller(words))[:size].reshape(shape)


def _box_muller(words: UInt64[Array, " m"]) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    radius = jnp.sqrt(-2 * jnp.log(_midpoint(words >> 24, bits=40)))
    # The angle: 22 bits within a quarter turn centred on zero, two bits for which quarter.
    t = _midpoint(words & 0x3FFFFF, bits=22) - 0.5
    sine = t * jnp.polyval(jnp.asarray(_SINE[::-1]), t * t, unroll=len(_SINE))
    cosine = jnp.sqrt(1 - sine * sine)
    quarter_turn = ((words >> 22) & 1) == 1
    half_turn = ((words >> 23) & 1) == 1
    radius = jnp.where(half_turn, -radius, radius)
    return radius * jnp.where(quarter_turn, -sine, cosine), radius * jnp.where(quarter_turn, cosine, sine)


def _midpoint(integers: UInt64[Array, " m"], bits: int) -> Float[Array, " m"]:
    r"""$(i + 1/2)/2^b$ for $b$-bit integers, through the mantissa: CPUs convert integers one at a time."""
    mantissa = (integers << (52 - bits)) | jnp.uint64(_EXPONENT_OF_ONE)
    return lax.bitcast_convert_type(mantissa, jnp.float64) - (1 - 0.5 ** (bits + 1))
