r"""Averages of signs with up to two bare factors, $\langle z_iz_j\prod_{k\in S}\mathrm{sgn}(z_k)\rangle_K$, in closed form.

Stein's lemma takes one bare factor out at a time: the derivative of a sign is $2\delta(z_k)$, which leaves fewer
variables, conditioned on $z_k = 0$. These are the averages of slopes of piecewise linear functions, whose delta
functions count. All that is left are arc sines and, for four signs, one orthant integral.
"""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array, diagonal
from .arcsine import correlation
from .four_signs import four_sign_moments
from .orthants import sign_product
from .two_signs import as_indices, entries, sign_pairs_of, two_sign_moments, wick_sums

_COINCIDENT = 4e-15  # a conditional variance below this part of the variance is rounding: the variable is fixed


def sign_moment(bare: tuple[int, ...], signs: tuple[int, ...], K: Float[Array, "n n"]) -> Array:
    r"""$\langle\prod_{i\in\text{bare}}z_i\prod_{k\in\text{signs}}\mathrm{sgn}(z_k)\rangle_K$ of at most four distinct
    signs and at most two bare factors; zero unless their number is even."""
    if (len(bare) + len(signs)) % 2:
        return jnp.zeros((), K.dtype)
    return _moment(bare, signs, K, diagonal(K))


def _moment(bare: tuple[int, ...], signs: tuple[int, ...], K: Float[Array, "n n"], unit: Float[Array, " n"]) -> Array:
    """`unit` holds the variances before anything was conditioned on, against which rounding is measured."""
    if not bare:
        return _signs(signs, K, unit)
    i, rest = bare[0], bare[1:]
    total = K[i, rest[0]] * _moment((), signs, K, unit) if rest else jnp.zeros((), K.dtype)
    for k in signs:
        others = tuple(other for other in signs if other != k)
        over_root = _inverse_root(K[k, k], unit[k])
        given = K - jnp.outer(K[k], K[k]) * over_root**2
        total += math.sqrt(2 / math.pi) * K[i, k] * over_root * _moment(rest, others, given, unit)
    return total


def _signs(signs: tuple[int, ...], K: Float[Array, "n n"], unit: Float[Array, " n"]) -> Array:
    if not signs:
        return jnp.ones((), K.dtype)
    if len(signs) == 2:
        a, b = signs
        rho = correlation(K[a, b] * _inverse_root(K[a, a], unit[a]) * _inverse_root(K[b, b], unit[b]), jnp.ones(()))
        return 2 / math.pi * jnp.arctan2(rho, jnp.sqrt((1 - rho) * (1 + rho)))
    return sign_product(K[jnp.asarray(signs)[:, None], jnp.asarray(signs)])


def _inverse_root(variance: Array, unit: Array) -> Array:
    fluctuates = variance > _COINCIDENT * unit
    return jnp.where(fluctuates, 1 / jnp.sqrt(jnp.where(fluctuates, variance, 1.0)), 0.0)


def two_slope_average(
    a_plus: float, a_minus: float, exponents: tuple[tuple[int, int], ...], K: Float[Array, "n n"]
) -> Array:
    r"""$\langle\prod_i\sigma(z_i)^{p_i}\sigma'(z_i)^{q_i}\rangle_K$ for slopes $a_\pm$ and $\sum p_i \le 2$:
    with $m = p_i + q_i$, $\sigma^p\sigma'^q = z^p\,[\tfrac12(a_+^m + a_-^m) + \tfrac12(a_+^m - a_-^m)\,\mathrm{sgn}(z)]$.
    """
    bare = tuple(i for i, (p, _) in enumerate(exponents) for _ in range(p))
    if len(bare) % 2 == 0 and (len(exponents) <= 3 or len(set(bare)) == len(bare)):
        return two_slope_averages(a_plus, a_minus, (exponents,), K)[0]
    total = jnp.zeros((), K.dtype)
    for count in range(len(bare) % 2, len(exponents) + 1, 2):
        for signs in itertools.combinations(range(len(exponents)), count):
            weight = _weight(a_plus, a_minus, exponents, signs)
            if weight:
                total += weight * sign_moment(bare, signs, K)
    return total


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def two_slope_averages(
    a_plus: float, a_minus: float, patterns: tuple[tuple[tuple[int, int], ...], ...], K: Float[Array, "n n"]
) -> Float[Array, " patterns"]:
    r"""The same for several patterns of exponents of at most four variables, with $\sum p_i$ = 0, 2 or 4 in each, and $p_i \le 1$
    where there are four variables."""
    pairs = list(map(tuple, sign_pairs_of(len(K)).T.tolist()))
    averages, four = jnp.zeros(len(patterns), K.dtype), four_sign_moments(K) if len(K) == 4 else None
    bare = [tuple(i for i, (p, _) in enumerate(each) for _ in range(p)) for each in patterns]
    degrees = sorted(set(map(len, bare)))
    alike = [[place for place, each in enumerate(bare) if len(each) == degree] for degree in degrees]
    every = tuple(tuple(bare[place] for place in places) for places in alike)
    of_pairs = two_sign_moments(every, K) if pairs else [0.0] * len(every)
    for degree, places, factors, moments in zip(degrees, alike, every, of_pairs, strict=True):
        weights = np.array(
            [[_weight(a_plus, a_minus, patterns[place], signs) for place in places] for signs in ((), *pairs)]
        )
        found = weights[0] * wick_sums(as_indices(factors), functools.partial(entries, K))
        found += jnp.sum(weights[1:] * moments, axis=0)
        if four is not None:
            of_all = np.array([_weight(a_plus, a_minus, patterns[place], (0, 1, 2, 3)) for place in places])
            found += of_all * (four.two[tuple(np.transpose(factors))] if degree == 2 else four[degree // 2])
        averages = averages.at[np.array(places)].set(found)
    return averages


def _weight(a_plus: float, a_minus: float, exponents: tuple[tuple[int, int], ...], signs: tuple[int, ...]) -> float:
    """Of these signs, and of no others, in a product of powers of activations and slopes."""
    return math.prod((a_plus**m + (-1) ** (i in signs) * a_minus**m) / 2 for i, m in enumerate(map(sum, exponents)))
