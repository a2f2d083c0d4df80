r"""Averages of two signs $s_a$, $s_b$ and up to four bare factors, $\langle z_i\cdots z_l\,s_as_b\rangle_K$, in closed form.

Stein's lemma takes out one bare factor after the other. It meets another bare factor, or a sign, whose derivative $2\delta(z_a)$
leaves one sign and what the others do when $z_a = 0$. With $x_k = K_{ka}/\sqrt{K_{aa}}$, $y_k = K_{kb}/\sqrt{K_{bb}}$ and
$\eta_k = K_{kb|a}/\sqrt{K_{bb|a}}$,

$$\langle z_i\,Q\,s_as_b\rangle = \sum_jK_{ij}\,\langle\partial_jQ\,s_as_b\rangle
  + \sqrt{\tfrac2\pi}\,\big[x_i\,\langle Q\,s_b\rangle_{|a} + y_i\,\langle Q\,s_a\rangle_{|b}\big],\qquad
\langle s_as_b\rangle = \tfrac2\pi\omega,\quad \omega = \arcsin\rho_{ab},$$

$$\langle z_j\,s_b\rangle_{|a} = \sqrt{\tfrac2\pi}\,\eta_j,\qquad
\langle z_jz_kz_l\,s_b\rangle_{|a} = \sqrt{\tfrac2\pi}\,\big[K_{jk|a}\eta_l + K_{jl|a}\eta_k + K_{kl|a}\eta_j - \eta_j\eta_k\eta_l\big].$$

In the same way it differentiates by the covariance, for any product $M$ of bare factors:

$$d\langle M\,s_as_b\rangle = \sum_{i<j}dK_{ij}\,\langle\partial_i\partial_jM\,s_as_b\rangle
  + \sqrt{\tfrac2\pi}\sum_i\big[dx_i\,\langle\partial_iM\,s_b\rangle_{|a} + dy_i\,\langle\partial_iM\,s_a\rangle_{|b}\big]
  + \tfrac2\pi\,d\omega\,\langle M\rangle_{|ab},$$

the sums over factors. What is left of a variable that is known is zero, exactly; so where $z_a$ and $z_b$ are among the factors nothing
diverges as they coincide.
"""

import functools
import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .._arrays import Array, diagonal
from .gram_vectors import COINCIDENT_ROUNDINGS, determinant, minors
from .wick import pairings

Factors = tuple[tuple[int, ...], ...]
"""For each average the variables that are its bare factors; as many in all of them, an even number."""


class _Known(NamedTuple):
    """What is known of the variables once one of them is zero."""

    given: Float[Array, "n n n"]
    r"""$K_{jk|a}$, first $a$."""
    eta: Float[Array, "n n n"]
    r"""$\eta_k$, first $a$, then $b$; zero where $z_a$ and $z_b$ coincide."""
    root: Float[Array, "n n"]
    r"""$\Delta_{ab} = \sqrt{K_{aa}K_{bb} - K_{ab}^2}$, the same."""


def sign_pairs_of(variables: int) -> Int[np.ndarray, "2 S"]:
    """All a < b, in the order in which averages stand along their first axis."""
    return np.stack(np.triu_indices(variables, k=1))


def _inverse_root(variance: Array) -> Array:
    """Zero for a variable that does not fluctuate."""
    fluctuates = variance > 0
    return jnp.where(fluctuates, 1 / jnp.sqrt(jnp.where(fluctuates, variance, 1.0)), 0.0)


def _known(K: Float[Array, "n n"]) -> _Known:
    crossed, over = minors(K), _inverse_root(diagonal(K))
    determinants = determinants_of(K)
    over_root = _inverse_root(determinants)
    return _Known(
        crossed * (over**2)[:, None, None], crossed * (over[:, None] * over_root)[:, :, None], determinants * over_root
    )


def determinants_of(K: Float[Array, "n n"]) -> Float[Array, "n n"]:
    r"""$\Delta_{ab}^2$, zero where two variables coincide."""
    variances = diagonal(K)
    determinants = determinant(*jnp.broadcast_arrays(variances[:, None], K, variances))
    rounding = COINCIDENT_ROUNDINGS * jnp.finfo(K.dtype).eps * variances[:, None] * variances
    return jnp.where(determinants > rounding, determinants, 0.0)


def variations(K: Float[Array, "n n"], dK: Float[Array, "n n"]) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
    r"""$dx_k$, first $k$, then $a$, and $\Delta_{ab}\,d\omega$ of every two variables."""
    over = _inverse_root(diagonal(K))
    d_log = diagonal(dK) * over**2 / 2  # of deviations
    return (dK - K * d_log) * over, dK - K * (d_log[:, None] + d_log)


def over_root(weight: Array, root: Array) -> Array:
    r"""`weight` $/\Delta_{ab}$: zero where the weight is, and no number where it is not and the variables coincide."""
    divided = (weight != 0) | (root > 0)
    return jnp.where(divided, weight / jnp.where(divided & (root == 0), jnp.nan, jnp.where(root > 0, root, 1.0)), 0.0)


def as_indices(factors: Factors) -> Int[np.ndarray, "M d"]:
    """One row for each average."""
    return np.array(factors, dtype=int).reshape(len(factors), -1)


def entries(array: Array, *indices: Int[np.ndarray, "..."]) -> Array:
    """Of indices that are known to be within bounds: in a third of the operations of JAX's own indexing."""
    places = np.ravel_multi_index(np.broadcast_arrays(*indices), array.shape)
    return jnp.asarray(array).reshape(-1).at[places].get(mode="promise_in_bounds", wrap_negative_indices=False)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def two_sign_moments(factors: tuple[Factors, ...], K: Float[Array, "n n"]) -> tuple[Float[Array, "S _"], ...]:
    r"""$\langle z_i\cdots z_l\,s_as_b\rangle_K$ for each of `sign_pairs_of` all variables and each of the `factors` $i\cdots l$, of which
    there may be lists with different numbers of them."""
    known = _known(K)
    return tuple(_moments(as_indices(each), K, known) for each in factors)


def _moments(factors: Int[np.ndarray, "M d"], K: Float[Array, "n n"], known: _Known) -> Float[Array, "S M"]:
    signs = sign_pairs_of(len(K))
    if not factors.shape[1]:
        angle = jnp.arctan2(entries(K, *signs), entries(known.root, *signs))
        return jnp.broadcast_to(2 / math.pi * angle[:, None], (len(angle), len(factors)))
    first, rest = factors[:, 0], factors[:, 1:]
    unit = K * _inverse_root(diagonal(K))  # x_k, first k, then a
    total = _met_by_signs(unit, first, rest, known)
    for met in range(rest.shape[1]):
        total += entries(K, first, rest[:, met]) * _moments(np.delete(rest, met, axis=1), K, known)
    return total


def _met_by_signs(
    unit: Float[Array, "n n"], one: Int[np.ndarray, " M"], rest: Int[np.ndarray, "M d"], known: _Known
) -> Float[Array, "S M"]:
    r"""$\sqrt{2/\pi}\,[x_i\,\langle Q\,s_b\rangle_{|a} + y_i\,\langle Q\,s_a\rangle_{|b}]$: `unit` holds $x$, `one` is $i$, `rest` are the
    one or three factors of $Q$."""
    zero = sign_pairs_of(len(unit))[:, :, None]
    sign = zero[::-1]
    along = [entries(known.eta, zero, sign, each) for each in rest.T]
    odd = along[0]
    if len(along) == 3:
        j, k, m = rest.T
        odd = entries(known.given, zero, j, k) * along[2] + entries(known.given, zero, j, m) * along[1]
        odd += (entries(known.given, zero, k, m) - along[1] * along[2]) * along[0]
    return 2 / math.pi * jnp.sum(entries(unit, one, zero) * odd, axis=0)


@two_sign_moments.defjvp
def _two_sign_moments_jvp(
    factors: tuple[Factors, ...], primals: tuple[Array], tangents: tuple[Array]
) -> tuple[tuple[Float[Array, "S _"], ...], tuple[Float[Array, "S _"], ...]]:
    (K,), (dK,) = primals, tangents
    known, varied = _known(K), variations(K, dK)
    every = list(map(as_indices, factors))
    return tuple(_moments(each, K, known) for each in every), tuple(
        _slope(each, K, dK, known, varied) for each in every
    )


def _slope(
    factors: Int[np.ndarray, "M d"],
    K: Float[Array, "n n"],
    dK: Float[Array, "n n"],
    known: _Known,
    varied: tuple[Float[Array, "n n"], Float[Array, "n n"]],
) -> Float[Array, "S M"]:
    (count, degree), signs = factors.shape, sign_pairs_of(len(K))
    of_both = over_root(jnp.asarray(_no_sign(factors, known)), entries(known.root, *signs)[:, None])
    total = 2 / math.pi * of_both * entries(varied[1], *signs)[:, None]
    if degree:  # every way to choose one factor, and every way to choose two, in one go
        rest = np.concatenate([np.delete(factors, i, axis=1) for i in range(degree)])
        total += jnp.sum(_met_by_signs(varied[0], factors.T.ravel(), rest, known).reshape(-1, degree, count), axis=1)
        pairs = list(itertools.combinations(range(degree), 2))
        rest = np.concatenate([np.delete(factors, pair, axis=1) for pair in pairs])
        met = entries(dK, *(factors[:, one].T for one in np.transpose(pairs)))
        total += jnp.sum(met * _moments(rest, K, known).reshape(-1, len(pairs), count), axis=1)
    return jnp.broadcast_to(total, (signs.shape[1], count))


def _no_sign(factors: Int[np.ndarray, "M d"], known: _Known) -> Float[Array, "S M"] | float:
    """Wick's theorem when both variables are zero."""
    a, b = sign_pairs_of(len(known.root))[:, :, None]

    def left(j: Int[np.ndarray, " M"], k: Int[np.ndarray, " M"]) -> Array:
        covariance = entries(known.given, a, j, k) - entries(known.eta, a, b, j) * entries(known.eta, a, b, k)
        return jnp.where((j == b) | (k == b), 0.0, covariance)

    return wick_sums(factors, left)


def wick_sums(factors: Int[np.ndarray, "M d"], covariance: Callable[..., Array]) -> Array | float:
    """Averages of products of bare factors, PDLT (1.45), from the covariances of two lists of variables."""
    columns = factors.T
    return sum(
        math.prod((covariance(columns[j], columns[k]) for j, k in pairing), start=1.0)
        for pairing in pairings(len(columns))
    )
