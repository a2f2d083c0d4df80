r"""Averages of four signs with none, two or four of their variables, as $\langle z_iz_j\,s_1s_2s_3s_4\rangle_K$, from one integral.

The integral is that of the signs alone, $F = \langle s_1s_2s_3s_4\rangle$. By Stein's lemma, with $x^a_i = K_{ia}/\sqrt{K_{aa}}$ and
averages $\langle\cdot\rangle_{|a}$ over what is left when $z_a = 0$,

$$\langle z_iz_j\,s_1s_2s_3s_4\rangle = K_{ij}F + \sqrt{\tfrac2\pi}\sum_ax^a_i\,G^a_j,\qquad
  G^a_j = \langle|z_j|\,s_ks_l\rangle_{|a} = \sqrt{\tfrac2\pi}\,\tfrac2\pi\sum_b\frac{K_{jb|a}}{\sqrt{K_{bb|a}}}\,\omega_{ab},$$

where $\omega_{ab} = \arcsin\rho_{kl|ab}$ is the angle between the other two when $z_a = z_b = 0$. Derivatives in the covariance are of
the same kind, with $d\omega = d\arcsin\rho_{ab}$:

$$dF = \tfrac2\pi\sum_{a<b}d\omega\;\tfrac2\pi\omega_{ab} ,\qquad
  d\langle|z_1z_2z_3z_4|\rangle = \sum_{i<j}dK_{ij}\,\langle z_kz_l\,s_1s_2s_3s_4\rangle
  + \sum_a\frac{dK_{aa}}{\sqrt{2\pi K_{aa}}}\,\langle|z_jz_kz_l|\rangle_{|a},$$

$$d\langle z_iz_j\,s_1s_2s_3s_4\rangle = dK_{ij}F + \sqrt{\tfrac2\pi}\sum_a\big[dx^a_i\,G^a_j + dx^a_j\,G^a_i\big]
  + \tfrac2\pi\,d\omega\,\langle|z_iz_j|\rangle_{|kl} .$$
"""

import itertools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array, diagonal
from .absolute_moments import absolute_triple
from .gram_vectors import gram_vectors
from .orthants import FINE, signs_of_rows
from .triangular import Rows, conditioned, inverse, lengths, rows_of, triple, triple_angles
from .two_signs import determinants_of, entries, over_root, sign_pairs_of, two_sign_moments, variations

_HALF_NORMAL = math.sqrt(2 / math.pi)  # the average of |z| at variance one
_OTHERS = np.array([[j for j in range(4) if j != a] for a in range(4)])
_PLACES = np.array([[np.flatnonzero(_OTHERS[a] == j).sum() for j in range(4)] for a in range(4)])  # of j among them
_APART = 1 - np.eye(4)


class FourSigns(NamedTuple):
    """The averages."""

    none: Float[Array, ""]
    two: Float[Array, "4 4"]
    """Of two different variables; zero on the diagonal."""
    four: Float[Array, ""]


class _Left(NamedTuple):
    """What is left when one variable is zero, the first index of all."""

    G: Float[Array, "4 4"]
    angles: Float[Array, "4 4"]
    r"""$\omega_{ab}$."""
    three: Float[Array, " 4"]
    r"""$\langle|z_jz_kz_l|\rangle_{|a}$."""
    two: Float[Array, "4 4"]
    r"""$\langle|z_kz_l|\rangle_{|ab}$."""


def _left(vectors: Rows) -> _Left:
    """All from the same vectors: angles between variables that nearly coincide are arbitrary, but what is made of all of them is not."""
    known = [conditioned(vectors, a) for a in range(4)]
    rows = jax.tree.map(lambda *each: jnp.stack(each), *known)  # each component for all four
    left = triple(rows)
    padded = jnp.stack([jnp.stack([*row, *[jnp.zeros_like(row[0])] * (3 - len(row))]) for row in rows])
    covariance = jnp.einsum("jka,lka->jla", padded, padded)
    over, angles = inverse(jnp.stack(lengths(rows))), jnp.stack(triple_angles(left))
    G = _HALF_NORMAL * 2 / math.pi * jnp.einsum("jla,la->ja", covariance, over * angles)
    volume = rows[0][0] * rows[1][1] * rows[2][2]
    k, m = np.array([1, 0, 0]), np.array([2, 2, 1])  # the two beside b
    b = np.arange(3)
    rest = covariance[k, m] - covariance[k, b] * covariance[m, b] * over**2
    pair = 2 / math.pi * (volume * over + rest * angles)

    def by_variable(values: Float[Array, "3 4"]) -> Float[Array, "4 4"]:
        return _APART * values[_PLACES, np.arange(4)[:, None]]

    return _Left(by_variable(G), by_variable(angles), absolute_triple(covariance, left), by_variable(pair))


@jax.custom_jvp
def _signs(K: Float[Array, "4 4"], vectors: Rows) -> Array:
    """$F$ as the vectors have it."""
    return signs_of_rows(vectors, FINE)


@_signs.defjvp
def _signs_jvp(primals: tuple[Array, Rows], tangents: tuple[Array, Rows]) -> tuple[Array, Array]:
    (K, vectors), (dK, _) = primals, tangents
    return _signs(K, vectors), _sign_slope(K, dK, _left(vectors))


def _sign_slope(K: Float[Array, "4 4"], dK: Float[Array, "4 4"], left: _Left) -> Array:
    return 2 / math.pi**2 * jnp.sum(over_root(left.angles, jnp.sqrt(determinants_of(K))) * variations(K, dK)[1])


@jax.custom_jvp
def four_sign_moments(K: Float[Array, "4 4"]) -> FourSigns:
    """All of them, for one covariance."""
    vectors = rows_of(gram_vectors(K))
    return _apart(_moments(K, _signs(K, vectors), _left(vectors)))


def _apart(moments: FourSigns) -> FourSigns:
    return moments._replace(two=_APART * moments.two)


def _moments(K: Float[Array, "4 4"], signs: Array, left: _Left) -> FourSigns:
    unit = K * inverse(jnp.sqrt(diagonal(K)))
    two = signs * K + _HALF_NORMAL * unit @ left.G
    four = K[0, 1] * two[2, 3] + K[0, 2] * two[1, 3] + K[0, 3] * two[1, 2] + _HALF_NORMAL * unit[0, 0] * left.three[0]
    regular = jax.tree.map(lambda each: jnp.where(jnp.all(diagonal(K) > 0), each, 0.0), FourSigns(signs, two, four))
    return _without_coincident_pair(K, regular)


def _without_coincident_pair(K: Float[Array, "4 4"], regular: FourSigns) -> FourSigns:
    """The signs of a pair of coincident variables multiply to the sign of its covariance: the direction between them is noise."""
    a, b = sign_pairs_of(4)
    coincident = entries(determinants_of(K), a, b) == 0
    first = jnp.argmax(coincident)

    sign = jnp.sign(entries(K, a, b))[first]
    every = ((),), tuple(itertools.product(range(4), repeat=2)), ((0, 1, 2, 3),)
    # Pairs stand in their order, and the other two variables in the opposite one.
    none, two, four = (sign * of_others[::-1][first] for of_others in two_sign_moments(every, K))
    instead = FourSigns(none[0], two.reshape(4, 4), four[0])
    return jax.tree.map(lambda one, other: jnp.where(jnp.any(coincident), one, other), instead, regular)


@four_sign_moments.defjvp
def _four_sign_moments_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[FourSigns, FourSigns]:
    (K,), (dK,) = primals, tangents
    vectors = rows_of(gram_vectors(K))
    left, signs = _left(vectors), _signs(K, vectors)
    value = _apart(_moments(K, signs, left))
    d_unit, turned = variations(K, dK)
    through = d_unit @ left.G
    two = (
        dK * signs
        + _HALF_NORMAL * (through + through.T)
        + 2 / math.pi * _of_the_others(over_root(left.two, jnp.sqrt(determinants_of(K))) * turned)
    )
    own = diagonal(dK) * inverse(jnp.sqrt(2 * math.pi * diagonal(K))) * left.three
    four = jnp.sum(dK * _of_the_others(value.two)) / 2 + jnp.sum(own)
    return value, FourSigns(_sign_slope(K, dK, left), _APART * two, four)


def squares_of_four_signs(K: Float[Array, "4 4"]) -> Float[Array, " 4"]:
    r"""$\langle z_i^2\,s_1s_2s_3s_4\rangle$, as of two different variables but for derivatives, which are those of what is computed."""
    vectors = rows_of(gram_vectors(K))
    return diagonal(_moments(K, _signs(K, vectors), _left(vectors)).two)


def _of_the_others(matrix: Float[Array, "4 4"]) -> Float[Array, "4 4"]:
    """For two variables the entry of the other two; zero on the diagonal."""
    i, j = np.indices((4, 4))
    beside = np.array([[[k for k in range(4) if k not in (a, b)][:2] for b in range(4)] for a in range(4)])
    return jnp.where(i == j, 0.0, matrix[beside[..., 0], beside[..., 1]])
