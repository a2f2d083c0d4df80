r"""Averages of products of signs, steps and piecewise linear functions of up to six Gaussian variables.

The covariance may be singular: repeated variables, multiples of one another, more variables than dimensions. Values are
those of the covariance as it is given, to rounding. A variable of variance zero is always zero: it has sign 0, step 1/2
and absolute value 0.

Accuracy in units of the standard deviations: 1e-12 for up to four variables, 1e-9 for five and six, however close to
singular. Two variables with $1-\rho^2 < 2\cdot10^{-15}$ count as coincident, because rounded entries do not tell; signs
and steps change by $\tfrac2\pi\sqrt{1-\rho^2}$ there, and six of them keep only $10^{-16}/\sqrt{1-\rho^2}$ next to it.

Derivatives with respect to the covariance: those of signs and steps diverge where two variables coincide and are right
for regular covariances only. The first derivatives of piecewise linear products are finite; they are right (to 1e-7)
for every covariance of up to four variables without a zero variance, and for more variables if the covariance is
regular or what makes it singular is not varied, as with repeated inputs. Higher derivatives: regular covariances only.
"""

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array, diagonal
from .._errors import ShapeError
from .._validation import as_covariance, as_floats
from .absolute_moments import absolute_moment
from .gram_vectors import coincident_pairs, gram_vectors
from .triangular import (
    NODES_AT_ONCE,
    Rows,
    Rule,
    Triple,
    conditioned,
    hyperbolic_rule,
    inverse,
    lengths,
    rows_of,
    shrunk,
    triple,
    triple_angles,
    weighted_sum,
)

MOST_VARIABLES = 6

FINE = hyperbolic_rule(step=0.3, nodes=11 * NODES_AT_ONCE)
_COARSE = hyperbolic_rule(step=1 / 3, nodes=9 * NODES_AT_ONCE)


def sign_product(K: Float[Array, "n n"] | Any) -> Float[Array, ""]:
    r"""$\langle\prod_i\mathrm{sgn}(z_i)\rangle_K$: zero for odd $n$, $\tfrac2\pi\arcsin\rho$ for two variables."""
    return _sign_product(_checked(K))


def step_product(K: Float[Array, "n n"] | Any) -> Float[Array, ""]:
    r"""$\langle\prod_i\theta(z_i)\rangle_K$, the probability that all variables are positive, PDLT (2.9)."""
    return _step_product(_checked(K))


def absolute_value_product(
    odd_slope: float | Array, even_slope: float | Array, K: Float[Array, "n n"] | Any
) -> Float[Array, ""]:
    r"""$\langle\prod_i(s z_i + t|z_i|)\rangle_K$ with $s$ = `odd_slope` and $t$ = `even_slope`, PDLT (2.13)-(2.14)."""
    return _absolute_value_product(as_floats(odd_slope, "odd_slope"), as_floats(even_slope, "even_slope"), _checked(K))


def _checked(K: Any) -> Float[Array, "n n"]:
    array = as_floats(K, "K")
    if array.shape == (0, 0):
        return array
    if array.ndim == 2 and len(array) > MOST_VARIABLES:
        raise ShapeError("K", f"{len(array)} variables", f"at most {MOST_VARIABLES}")
    return as_covariance(array, "K")


def _unit_powers_of_two(K: Float[Array, "n n"]) -> Float[Array, " n"]:
    """Powers of two that bring every variance between 1/2 and 2, without a rounding error."""
    _, exponent = jnp.frexp(jax.lax.stop_gradient(diagonal(K)))
    return jnp.ldexp(jnp.ones(len(K), K.dtype), -(exponent // 2))


@jax.jit
def _sign_product(K: Float[Array, "n n"]) -> Array:
    n = len(K)
    if n % 2 or n == 0:
        return jnp.asarray(float(n == 0), K.dtype)
    unit = _unit_powers_of_two(K)
    scaled = K * unit[:, None] * unit[None, :]
    signs = signs_of_rows(rows_of(gram_vectors(scaled)), FINE if n < MOST_VARIABLES else _COARSE)
    if n > 2:
        signs = _without_coincident_pair(scaled, signs)
    return jnp.where(jnp.all(diagonal(K) > 0), signs, 0.0)


def signs_of_rows(rows: Rows, rule: Rule) -> Array:
    r"""Plackett's reduction, with the covariances $k$ of the first variable with the others multiplied by $t$,
    $$\langle s_1\cdots s_n\rangle = \frac2\pi\int_0^1dt\sum_b\frac{k_b}{\sqrt{K_{11}C_{bb}}}
    \Big\langle\prod_{j\ne1,b}s_j\Big\rangle_{C|z_b=0},\qquad C = K - t^2kk^T/K_{11}.$$
    """
    if len(rows) == 2:
        return 2 / math.pi * jnp.arctan2(rows[1][0], rows[1][1])

    def frame(shrink: Array) -> tuple[Rows, Triple | None]:
        rest = shrunk(rows, shrink)
        return rest, triple(rest) if len(rest) == 3 else None

    def integrand(_: Array, vectors: tuple[Rows, Triple | None]) -> Array:
        rest, three = vectors
        if three:
            others = 2 / math.pi * jnp.stack(triple_angles(three))
        else:
            given = [conditioned(rest, b) for b in range(len(rest))]
            others = jax.vmap(lambda one: signs_of_rows(one, rule))(jax.tree.map(lambda *each: jnp.stack(each), *given))
        slopes = [row[0] * inverse(length) for row, length in zip(rows[1:], lengths(rest), strict=True)]
        return jnp.sum(jnp.stack(slopes) * others)

    return 2 / math.pi * weighted_sum(rule, frame, integrand, rows[0][0].dtype)


def _without_coincident_pair(K: Float[Array, "n n"], regular: Array) -> Array:
    """A pair of coincident variables contributes the sign of its covariance: the direction between them is noise."""
    pairs = np.array(list(itertools.combinations(range(len(K)), 2)))
    others = np.array([np.setdiff1d(np.arange(len(K)), pair) for pair in pairs])
    coincident = coincident_pairs(K)[pairs[:, 0], pairs[:, 1]]
    first = jnp.argmax(coincident)
    i, j = jnp.asarray(pairs)[first]
    rest = jnp.asarray(others)[first]
    reduced = jnp.sign(K[i, j]) * signs_of_rows(rows_of(gram_vectors(K[rest][:, rest])), FINE)
    return jnp.where(jnp.any(coincident), reduced, regular)


@jax.jit
def _step_product(K: Float[Array, "n n"]) -> Array:
    total = jnp.ones((), K.dtype)
    for size in range(2, len(K) + 1, 2):
        subsets = np.array(list(itertools.combinations(range(len(K)), size)))
        blocks = K[subsets[:, :, None], subsets[:, None, :]]
        total = total + jnp.sum(jax.vmap(_sign_product)(blocks))
    return total / 2 ** len(K)


@jax.jit
def _absolute_value_product(odd_slope: Array, even_slope: Array, K: Float[Array, "n n"]) -> Array:
    n = len(K)
    if n == 0:
        return jnp.ones((), K.dtype)
    unit = _unit_powers_of_two(K)
    scaled = K * unit[:, None] * unit[None, :]
    total = jnp.zeros((), K.dtype)
    for odd in range(0, n + 1, 2):
        bare = itertools.combinations(range(n), odd)
        orders = np.array([[*(i for i in range(n) if i not in chosen), *chosen] for chosen in bare])
        blocks = scaled[orders[:, :, None], orders[:, None, :]]
        moments = jax.vmap(lambda block, absolute=n - odd: absolute_moment(block, absolute))(blocks)
        total = total + odd_slope**odd * even_slope ** (n - odd) * jnp.sum(moments)
    return total / jnp.prod(unit)
