r"""Vectors $v_i$ with $v_i\cdot v_j = K_{ij}$ for any covariance, as accurate as its floating-point entries allow.

Two variables of correlation $\rho$ are vectors at an angle of about $\sqrt{2(1-\rho)}$, and plain elimination would
lose half of the digits of a small one. The elimination therefore carries each number as an unevaluated sum of two.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

Pair = tuple[Array, Array]  # a number as high + low, with |low| below the rounding of high

# A variance left over by the variables before it is zero below this many units of rounding of the variance itself:
# what the entries of an exactly singular covariance leave once they have been rounded.
COINCIDENT_ROUNDINGS = 4


def _sum(a: Array, b: Array) -> Pair:
    """The exact sum of two floats (Knuth)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def _halves(a: Array) -> Pair:
    """Two floats of half the digits each, whose products with one another are exact."""
    digits = jnp.finfo(a.dtype)
    high = lax.stop_gradient(lax.reduce_precision(a, digits.nexp, digits.nmant // 2 - 1))
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


def gram_vectors(K: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The rows are the vectors: lower triangular with a non-negative diagonal, zero where the rank is used up."""
    n = len(K)
    floor = COINCIDENT_ROUNDINGS * jnp.finfo(K.dtype).eps * jnp.diagonal(K)
    rest: Pair = (K, jnp.zeros_like(K))
    columns = []
    for m in range(n):
        column = (rest[0][:, 0], rest[1][:, 0])
        alive = column[0][0] > floor[m]
        pivot = tuple(jnp.where(alive, part[0], float(i == 0)) for i, part in enumerate(column))
        column = tuple(jnp.where(alive, part, 0.0) for part in column)
        share = _quotient(column, pivot)
        # Entries that rounding has left outside the cone of covariances must not make a vector longer than it is.
        components = share[0] * jnp.sqrt(pivot[0])
        longest = jnp.sqrt(jnp.maximum(lax.stop_gradient(jnp.diagonal(rest[0])), 0.0))
        components = jnp.where(jnp.abs(components) > longest, jnp.sign(components) * longest, components)
        columns.append(jnp.pad(components, (m, 0)))
        outer = _product((share[0][:, None], share[1][:, None]), (column[0][None], column[1][None]))
        rest = tuple(part[1:, 1:] for part in _difference(rest, outer))
    return jnp.stack(columns, axis=1)


def coincident_pairs(K: Float[Array, "n n"]) -> Bool[Array, "n n"]:
    r"""Which variables are the same up to a factor, $|\rho_{ij}| = 1$ to rounding."""
    zero = jnp.zeros_like(K)
    products = jnp.diagonal(K)[:, None] * jnp.diagonal(K)[None, :]
    variances = _product((jnp.diagonal(K)[:, None] + zero, zero), (jnp.diagonal(K)[None, :] + zero, zero))
    determinants, _ = _difference(variances, _product((K, zero), (K, zero)))
    return determinants <= COINCIDENT_ROUNDINGS * jnp.finfo(K.dtype).eps * products
