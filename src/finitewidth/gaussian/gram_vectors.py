r"""Vectors $v_i$ with $v_i\cdot v_j = K_{ij}$ for any covariance, as accurate as its floating-point entries allow.

Two variables of correlation $\rho$ are vectors at an angle of about $\sqrt{2(1-\rho)}$, and plain elimination would
lose half of the digits of a small one. The elimination therefore carries each number as an unevaluated sum of two.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.lax.linalg import triangular_solve
from jaxtyping import Bool, Float

from .._arrays import Array, diagonal

Pair = tuple[Array, Array]  # a number as high + low, with |low| below the rounding of high

# A variance left over by the variables before it is zero below this many units of rounding of the variance itself:
# what the entries of an exactly singular covariance leave once they have been rounded.
COINCIDENT_ROUNDINGS = 8


def _sum(a: Array, b: Array) -> Pair:
    """The exact sum of two floats (Knuth)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def _halves(a: Array) -> Pair:
    """Two floats of half the digits each, whose products with one another are exact."""
    digits = jnp.finfo(a.dtype)
    high = lax.reduce_precision(a, digits.nexp, digits.nmant // 2 - 1)
    return high, a - high


def _product(a: Pair, b: Pair) -> Pair:
    """Dekker's product."""
    (a_high, a_low), (b_high, b_low) = _halves(a[0]), _halves(b[0])
    total = a[0] * b[0]
    error = ((a_high * b_high - total) + a_high * b_low + a_low * b_high) + a_low * b_low
    return _sum(total, error + (a[0] * b[1] + a[1] * b[0]))


def _difference(a: Pair, b: Pair) -> Pair:
    total, error = _sum(a[0], -b[0])
    return _sum(total, error + (a[1] - b[1]))


def _quotient(a: Pair, b: Pair) -> Pair:
    first = a[0] / b[0]
    remainder, _ = _difference(a, _product((first, jnp.zeros_like(first)), b))
    return _sum(first, remainder / b[0])


@jax.custom_jvp
def gram_vectors(K: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The rows are the vectors: lower triangular with a non-negative diagonal, zero where the rank is used up."""
    floor = COINCIDENT_ROUNDINGS * jnp.finfo(K.dtype).eps * diagonal(K)

    def eliminate(rest: Pair, m: Array) -> tuple[Pair, Array]:
        high, low = rest[0][m], rest[1][m]
        alive = high[m] > floor[m]
        pivot = (jnp.where(alive, high[m], 1.0), jnp.where(alive, low[m], 0.0))
        mask = alive & (jnp.arange(len(K)) >= m)
        high, low = jnp.where(mask, high, 0.0), jnp.where(mask, low, 0.0)
        share = _quotient((high, low), pivot)
        components = share[0] * jnp.sqrt(pivot[0])
        # Entries that rounding has left outside the cone of covariances must not make a vector longer than it is.
        longest = jnp.sqrt(jnp.maximum(diagonal(rest[0]), 0.0))
        components = jnp.where(jnp.abs(components) > longest, jnp.sign(components) * longest, components)
        outer = _product((share[0][:, None], share[1][:, None]), (high[None], low[None]))
        return _difference(rest, outer), components

    _, columns = lax.scan(eliminate, (K, jnp.zeros_like(K)), jnp.arange(len(K)))
    return columns.T


@gram_vectors.defjvp
def _gram_vectors_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    r"""$dV = V\,\Phi(V^{-1}\,dK\,V^{-T})$, where $\Phi$ keeps the lower triangle and half of the diagonal; $K$ regular."""
    (K,), (dK,) = primals, tangents
    V = gram_vectors(K)
    white = triangular_solve(V, triangular_solve(V, dK, left_side=True, lower=True).T, left_side=True, lower=True)
    return V, V @ (jnp.tril(white) - jnp.diag(diagonal(white)) / 2)


@jax.jit
def determinant(Kaa: Float[Array, "*batch"], Kab: Float[Array, "*batch"], Kbb: Float[Array, "*batch"]) -> Array:
    r"""$K_{aa}K_{bb} - K_{ab}^2$ to rounding of its own, however close the correlation is to one."""
    return _minor(Kaa, Kbb, Kab, Kab)


def minors(K: Float[Array, "n n"]) -> Float[Array, "n n n"]:
    r"""$K_{aa}K_{jk} - K_{aj}K_{ak}$, axes $ajk$, to rounding of their own: $K_{aa}$ times the covariance left when $z_a$ is known."""
    return _minor(diagonal(K)[:, None, None], K[None], K[:, :, None], K[:, None, :])


def _minor(a: Array, b: Array, c: Array, d: Array) -> Array:
    """ab - cd, with one rounding."""
    zero = jnp.zeros((), a.dtype)
    return _difference(_product((a, zero), (b, zero)), _product((c, zero), (d, zero)))[0]


def coincident_pairs(K: Float[Array, "n n"]) -> Bool[Array, "n n"]:
    r"""Which variables are the same up to a factor, $|\rho_{ij}| = 1$ to rounding."""
    a, b = jnp.broadcast_arrays(diagonal(K)[:, None], diagonal(K)[None, :])
    products, determinants = a * b, determinant(a, K, b)
    return determinants <= COINCIDENT_ROUNDINGS * jnp.finfo(K.dtype).eps * products
