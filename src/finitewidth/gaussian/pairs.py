r"""Two-point averages $\langle f^{(i)}(z_a)\,g^{(j)}(z_b)\rangle_K$, differentiable to any order by Stein's lemma.

Derivatives with respect to the covariance are averages of derivatives, PDLT (5.53), so the flow never differentiates
through a root of $K$, nor through a sampled delta function: coincident inputs and kinks are safe.
"""

import functools
import math
import operator

import jax
import jax.numpy as jnp
from jaxtyping import ArrayLike

from .._arrays import Array
from . import grid, hermite, piecewise
from .distributional import distributional_pair
from .function import Function
from .grid import GridRule
from .hermite import HermiteRule
from .line import line_average
from .places import PanelRule

PairRule = GridRule | HermiteRule | PanelRule | None
"""How to integrate a pair: on a grid, by modes, or on panels (of which `None` means those for variances of order one)."""


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2, 3, 4))
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
        return grid.pair_average(f.derivative(i), g.derivative(j), Kaa, Kab, Kbb, rule)
    if rule.parity is not None:
        if (i + j) % 2:
            return jnp.zeros(jnp.broadcast_shapes(Kaa.shape, Kab.shape, Kbb.shape), Kab.dtype)
        rule = HermiteRule(rule.order, rule.nodes, rule.reach, (rule.parity + i) % 2)
    return hermite.pair_average(f.derivative(i), g.derivative(j), Kaa, Kab, Kbb, rule)


@mixed_moment.defjvp
def _stein(f, i, g, j, rule, covariance, tangents):
    def raised(p: int, q: int) -> Array:
        return mixed_moment(f, i + p, g, j + q, rule, *covariance)

    daa, dab, dbb = tangents
    tangent = raised(1, 1) * dab + (raised(2, 0) * daa + raised(0, 2) * dbb) / 2
    return mixed_moment(f, i, g, j, rule, *covariance), tangent


def pair_moment(
    f: Function, i: int, j: int, Kaa: ArrayLike, Kab: ArrayLike, Kbb: ArrayLike, rule: PairRule = None
) -> Array:
    r"""$\langle f^{(i)}(z_a)\,f^{(j)}(z_b)\rangle_K$ of one function, elementwise over covariances."""
    return mixed_moment(f, i, f, j, rule, *(jnp.asarray(entry, dtype=float) for entry in (Kaa, Kab, Kbb)))


def square_average(f: Function, K: Array) -> Array:
    r"""$g(K) = \langle f(z)^2\rangle_K$ of one variable, PDLT (5.5), elementwise; differentiable to any order."""
    closed = f.closed_square(K)
    if closed is not None:
        return closed
    return line_average(lambda z: f(z) ** 2, K, f.kinks, f.places) if f.kinks else _smooth_square(f, 0, K)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _smooth_square(f: Function, m: int, K: Array) -> Array:
    r"""$g^{(m)}(K) = 2^{-m}\langle(f^2)^{(2m)}\rangle_K$, PDLT (5.53): shorter to compile than derivatives of the nodes."""

    def integrand(z: Array) -> Array:
        derivatives = [f.derivative(order)(z) for order in range(2 * m + 1)]
        terms = zip(derivatives, reversed(derivatives), strict=True)
        weighted = [math.comb(2 * m, k) * left * right for k, (left, right) in enumerate(terms)]
        return functools.reduce(operator.add, weighted)

    return line_average(integrand, K, (), f.places) / 2**m


@_smooth_square.defjvp
def _raise_square(f, m, primals, tangents):
    (K,), (dK,) = primals, tangents
    return _smooth_square(f, m, K), _smooth_square(f, m + 1, K) * dK
