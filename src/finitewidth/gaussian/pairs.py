r"""Two-point averages $\langle f^{(i)}(z_a)\,g^{(j)}(z_b)\rangle_K$, differentiable to any order by Stein's lemma.

Derivatives with respect to the covariance are averages of derivatives, PDLT (5.53), so the flow never differentiates
through a root of $K$, nor through a sampled delta function: coincident inputs and kinks are safe.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from .._arrays import Array
from . import grid, hermite, piecewise
from .derivatives import differentiate, with_derivatives
from .distributional import distributional_pair
from .function import Function
from .grid import GridRule
from .hermite import HermiteRule
from .line import line_derivative, line_rule
from .places import PanelRule

PairRule = GridRule | HermiteRule | PanelRule | None
"""How to integrate a pair: on a grid, by modes, or on panels (of which `None` means those for variances of order one)."""


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2, 3))
def mixed_moment(f: Function, i: int, g: Function, j: int, rule: PairRule, Kaa: Array, Kab: Array, Kbb: Array) -> Array:
    r"""$\langle f^{(i)}(z_a)\,g^{(j)}(z_b)\rangle_K$, elementwise over covariances that broadcast against each other.

    Derivatives of kinked functions are distributions and count with their delta functions. `rule` integrates functions
    that have no closed form.
    """
    if f == g:
        shape = jnp.broadcast_shapes(jnp.shape(Kaa), jnp.shape(Kab), jnp.shape(Kbb))
        closed = f.closed_pair(i, j, jnp.asarray(Kaa), jnp.broadcast_to(Kab, shape), jnp.asarray(Kbb))
        if closed is not None:
            return closed
    if f.kinks or g.kinks:
        return distributional_pair(f, i, g, j, Kaa, Kab, Kbb, rule if isinstance(rule, PanelRule) else None)
    if rule is None or isinstance(rule, PanelRule):
        places = f.places.reaching(rule), g.places.reaching(rule)
        return piecewise.pair_average(f.derivative(i), g.derivative(j), *places, Kaa, Kab, Kbb)
    if isinstance(rule, GridRule):
        Kaa, Kab, Kbb = jnp.broadcast_arrays(Kaa, Kab, Kbb)
        return grid.pair_averages(f, g, [(i, j)], Kaa, Kab, Kbb, rule)[0]
    if rule.parity is not None:
        if (i + j) % 2:
            return jnp.zeros(jnp.broadcast_shapes(Kaa.shape, Kab.shape, Kbb.shape), Kab.dtype)
        rule = replace(rule, parity=(rule.parity + i) % 2)
    return hermite.pair_average(f.derivative(i), g.derivative(j), Kaa, Kab, Kbb, rule)


@mixed_moment.defjvp
def _stein(f, i, g, j, primals, tangents):
    rule, *covariance = primals

    def raised(p: int, q: int) -> Array:
        return mixed_moment(f, i + p, g, j + q, rule, *covariance)

    _, daa, dab, dbb = tangents  # a rule is data, but no variable
    tangent = raised(1, 1) * dab + (raised(2, 0) * daa + raised(0, 2) * dbb) / 2
    return mixed_moment(f, i, g, j, rule, *covariance), tangent


def pair_moment(
    f: Function, i: int, j: int, Kaa: ArrayLike, Kab: ArrayLike, Kbb: ArrayLike, rule: PairRule = None
) -> Array:
    r"""$\langle f^{(i)}(z_a)\,f^{(j)}(z_b)\rangle_K$ of one function, elementwise over covariances."""
    return mixed_moment(f, i, f, j, rule, *(jnp.asarray(entry, dtype=float) for entry in (Kaa, Kab, Kbb)))


def is_on_grid(f: Function, rule: PairRule) -> bool:
    """Whether averages of pairs are taken on a grid."""
    return isinstance(rule, GridRule) and not f.kinks and not f.has_closed_pair


def pair_moments(
    f: Function, orders: Sequence[tuple[int, int]], Kaa: Array, Kab: Array, Kbb: Array, rule: PairRule
) -> list[Array]:
    r"""$\langle f^{(i)}(z_a)\,f^{(j)}(z_b)\rangle_K$ for all `orders` $(i, j)$: on a grid, from one evaluation of the derivatives."""
    if is_on_grid(f, rule):
        return list(_moments_on_a_grid(f, tuple(orders), rule, Kaa, Kab, Kbb))
    return [pair_moment(f, i, j, Kaa, Kab, Kbb, rule) for i, j in orders]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _moments_on_a_grid(f, orders, rule, Kaa, Kab, Kbb):
    return grid.pair_averages(f, f, orders, Kaa, Kab, Kbb, rule)


@_moments_on_a_grid.defjvp
def _stein_on_a_grid(f, orders, primals, tangents):
    rule, *covariance = primals
    _, daa, dab, dbb = tangents
    raised = {(i + p, j + q) for i, j in orders for p, q in ((1, 1), (2, 0), (0, 2))}
    every = tuple(sorted({*orders, *raised}))
    known = dict(zip(every, _moments_on_a_grid(f, every, rule, *covariance), strict=True))
    values = jnp.stack([known[each] for each in orders])
    slopes = [known[i + 1, j + 1] * dab + (known[i + 2, j] * daa + known[i, j + 2] * dbb) / 2 for i, j in orders]
    return values, jnp.stack(slopes)


def square_average(f: Function, K: Array) -> Array:
    r"""$g(K) = \langle f(z)^2\rangle_K$ of one variable, PDLT (5.5), elementwise; differentiable to any order."""
    return square_averages(f, K, 0)[0]


def square_averages(f: Function, K: Array, order: int, slope: int = 0) -> list[Array]:
    r"""$g(K) = \langle f^{(s)}(z)^2\rangle_K$, for the derivative $s$ = `slope`, and the derivatives of $g$ up to an order."""
    closed = f.closed_square(K, slope) is not None
    if not f.kinks and not closed:
        return list(_smooth_squares(f, slope, order, K))
    if not closed:
        value = f.derivative(slope)
        return [line_derivative(lambda z: value(z) ** 2, f.kinks, f.places, m, K) for m in range(order + 1)]
    found, square = [], lambda k: cast(Array, f.closed_square(k, slope))
    for _ in range(order + 1):
        found.append(square(K))
        square = differentiate(square)
    return found


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def _smooth_squares(f: Function, slope: int, order: int, K: Array) -> Array:
    r"""$g^{(m)}(K) = 2^{-m}\langle(f^2)^{(2m)}\rangle_K$ for $m$ = 0..`order`, PDLT (5.53): shorter to compile than derivatives of
    the nodes."""
    z, weights = line_rule(K, (), f.places)
    derivatives = jnp.stack(with_derivatives(f, slope + 2 * order)(z)[slope:])
    squares = [
        jnp.tensordot(_binomials(2 * m) / 2**m, derivatives[: 2 * m + 1] * derivatives[2 * m :: -1], 1)
        for m in range(order + 1)
    ]
    return jnp.sum(weights * jnp.stack(squares), axis=-1)


def _binomials(n: int) -> Float[np.ndarray, " k"]:
    return np.array([float(math.comb(n, k)) for k in range(n + 1)])


@_smooth_squares.defjvp
def _raise_squares(f, slope, order, primals, tangents):
    (K,), (dK,) = primals, tangents
    squares = _smooth_squares(f, slope, order + 1, K)
    return squares[:-1], squares[1:] * dK
