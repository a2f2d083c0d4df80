r"""Chi-squared numbers, fast and exact.

Marsaglia and Tsang: with $d = \alpha - \tfrac13$ and $v = (1 + x/\sqrt{9d})^3$, $x$ normal, the number $dv$ has the Gamma law of
shape $\alpha \ge 1$ once it passes the test $\ln u < \tfrac12x^2 + d(1 - v + \ln v)$ of a uniform $u$, which accepts 95 % at
$\alpha = 1$ and nearly all at large $\alpha$. All numbers of a call are tried again together until each has passed.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.random import fold_in
from jax.typing import DTypeLike
from jaxtyping import Float, Int, Key

from ..._arrays import Array
from ..normals import standard_normals


def chi_squares(key: Key[Array, ""], degrees: Int[np.ndarray, " N"], dtype: DTypeLike) -> Float[Array, " N"]:
    r"""Independent $\chi^2_\nu$ for each of the positive `degrees` $\nu$."""
    single = degrees == 1  # the square of a normal number: the test wants two degrees at least
    d = jnp.asarray(np.maximum(degrees, 2) / 2 - 1 / 3, dtype)
    spread = 1 / jnp.sqrt(9 * d)

    def again(state: tuple[Array, Array, Array]) -> Array:
        return ~jnp.all(state[2])

    def attempt(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        number, found, passed = state
        # ln u is minus an exponential number, half the square of a normal vector in the plane: one draw for all.
        x, y, z = standard_normals(fold_in(key, number), (3, len(degrees)), d.dtype)
        v = (1 + spread * x) ** 3
        inside = v > 0
        threshold = x * x / 2 + d * (1 - v + jnp.log(jnp.where(inside, v, 1)))
        passes = single | (inside & (-(y * y + z * z) / 2 < threshold))
        return number + 1, jnp.where(passed, found, jnp.where(single, x * x, 2 * d * v)), passed | passes

    start = jnp.zeros((), jnp.int32), jnp.zeros_like(d), jnp.zeros(d.shape, bool)
    return lax.while_loop(again, attempt, start)[1]
