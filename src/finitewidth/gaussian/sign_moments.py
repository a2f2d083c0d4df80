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
from .four_signs import FourSigns, four_sign_moments, squares_of_four_signs
from .gram_vectors import gram_vectors
from .triangular import inverse, rows_of, triple, triple_angles
from .two_signs import Factors, as_indices, entries, sign_pairs_of, two_sign_moments, wick_sums

_HALF_NORMAL = math.sqrt(2 / math.pi)  # the average of |z| at variance one


def _one_factor(i: int, signs: tuple[int, ...], K: Float[Array, "n n"]) -> Array:
    r"""$\langle z_i\prod_k\mathrm{sgn}(z_k)\rangle_K$ of one sign or three: each meets $z_i$, and of the other two, when it is zero, an
    angle is left."""
    K, chosen = jnp.asarray(K), np.array(signs)
    along = K[i, chosen] * inverse(jnp.sqrt(diagonal(K)[chosen]))
    if len(signs) == 1:
        return _HALF_NORMAL * along[0]
    angles = triple_angles(triple(rows_of(gram_vectors(K[chosen[:, None], chosen]))))
    return _HALF_NORMAL * 2 / math.pi * along @ jnp.stack(angles)


def two_slope_average(
    a_plus: float, a_minus: float, exponents: tuple[tuple[int, int], ...], K: Float[Array, "n n"]
) -> Array:
    r"""$\langle\prod_i\sigma(z_i)^{p_i}\sigma'(z_i)^{q_i}\rangle_K$ for slopes $a_\pm$ and $\sum p_i \le 2$:
    with $m = p_i + q_i$, $\sigma^p\sigma'^q = z^p\,[\tfrac12(a_+^m + a_-^m) + \tfrac12(a_+^m - a_-^m)\,\mathrm{sgn}(z)]$.
    """
    bare = tuple(i for i, (p, _) in enumerate(exponents) for _ in range(p))
    if len(bare) % 2 == 0:
        return two_slope_averages(a_plus, a_minus, (exponents,), K)[0]
    odd = (signs for count in (1, 3) for signs in itertools.combinations(range(len(exponents)), count))
    weights = {signs: _weight(a_plus, a_minus, exponents, signs) for signs in odd}
    terms = [weight * _one_factor(bare[0], signs, K) for signs, weight in weights.items() if weight]
    return sum(terms, start=jnp.zeros((), K.dtype))


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def two_slope_averages(
    a_plus: float, a_minus: float, patterns: tuple[tuple[tuple[int, int], ...], ...], K: Float[Array, "n n"]
) -> Float[Array, " patterns"]:
    r"""The same for several patterns of exponents of at most four variables, with $\sum p_i$ = 0, 2 or 4 in each, and $p_i \le 1$
    where there are four variables and four such factors."""
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
            found += of_all * (_two_of(factors, four, K) if degree == 2 else four[degree // 2])
        averages = averages.at[np.array(places)].set(found)
    return averages


def _two_of(factors: Factors, four: FourSigns, K: Float[Array, "4 4"]) -> Float[Array, " patterns"]:
    i, j = np.transpose(factors)
    return (four.two + jnp.diag(squares_of_four_signs(K)) if (i == j).any() else four.two)[i, j]


def _weight(a_plus: float, a_minus: float, exponents: tuple[tuple[int, int], ...], signs: tuple[int, ...]) -> float:
    """Of these signs, and of no others, in a product of powers of activations and slopes."""
    return math.prod((a_plus**m + (-1) ** (i in signs) * a_minus**m) / 2 for i, m in enumerate(map(sum, exponents)))
