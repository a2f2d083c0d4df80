r"""The exponential of many small matrices at once, in matrix products alone.

A Taylor polynomial of degree 8 in three products (Bader, Blanes and Casas 2019), on the matrix halved until it is small,
then squared as often. Where only products are used, a batch of matrices runs as fast as one large one.
"""

import math
from functools import reduce
from operator import add

import jax.numpy as jnp
from jax import lax
from jaxtyping import Float

from .._arrays import Array

_SMALL = 0.125  # below this norm the polynomial is exact to 2e-14
_MOST_SQUARINGS = 30

_R = math.sqrt(177)
_X3 = 2 / 3
_X1, _X2 = _X3 * (1 + _R) / 88, _X3 * (1 + _R) / 352
_X4, _X5 = (-271 + 29 * _R) / (315 * _X3), 11 * (-1 + _R) / (1260 * _X3)
_X6, _X7 = 11 * (-9 + _R) / (5040 * _X3), (89 - _R) / (5040 * _X3**2)
_Y2 = (857 - 58 * _R) / 630

# Up to this size one fused loop over sums that are written out beats XLA's batched matrix products, and its sums: five times at eight.
_FEW = 8


def product(a: Float[Array, "i j"], b: Float[Array, "j k"]) -> Float[Array, "i k"]:
    """The matrix product, fast under `vmap` for tiny matrices too."""
    if max(*a.shape, *b.shape) > _FEW:
        return a @ b
    return reduce(add, [a[:, j : j + 1] * b[j] for j in range(len(b))])


def matrix_exponential(X: Float[Array, "m m"]) -> Float[Array, "m m"]:
    r"""$e^X$, to about $10^{-13}$ of its norm."""
    size = jnp.minimum(jnp.max(jnp.sum(jnp.abs(X), axis=0)), jnp.linalg.norm(X))
    halvings = jnp.clip(jnp.ceil(jnp.log2(jnp.maximum(size, _SMALL) / _SMALL)), 0, _MOST_SQUARINGS)
    power = _taylor(X * jnp.exp2(-halvings))
    return lax.fori_loop(0, halvings.astype(int), lambda _, Y: product(Y, Y), power)


def _taylor(X: Float[Array, "m m"]) -> Float[Array, "m m"]:
    identity = jnp.eye(len(X), dtype=X.dtype)
    X2 = product(X, X)
    X4 = product(X2, _X1 * X + _X2 * X2)
    X8 = product(_X3 * X2 + X4, _X4 * identity + _X5 * X + _X6 * X2 + _X7 * X4)
    return identity + X + _Y2 * X2 + X8
