r"""Averages $\langle\prod_i f_i^{(k_i)}(z_i)\rangle_K$ of up to six jointly Gaussian variables.

The covariance may be singular. Derivatives with respect to it are averages of derivatives (Stein's lemma):
$\partial\langle F\rangle/\partial K_{ij} = \langle\partial_i\partial_j F\rangle$ for $i \ne j$ and half of it for $i = j$. Where a factor
has kinks, its derivatives hold delta functions: two variables count them, more refuse them, and one is differentiated as it stands.
"""

import functools
import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .._arrays import Array
from .._errors import DomainError
from . import piecewise, smoothed
from .grid import GridRule
from .line import line_derivative
from .pairs import mixed_moment
from .places import PanelRule
from .split import Factors as Factors, split_averages

ProductRule = GridRule | PanelRule | None
"""How to integrate a product: on a grid, or on panels."""


def _closed(factors: Factors, K: Float[Array, "n n"]) -> Array | None:
    function = factors[0][0]
    if any(f != function for f, _ in factors):
        return None
    return function.closed_product(tuple(order for _, order in factors), K)


def _check_regular(factors: Factors) -> None:
    """Refuse derivatives that hold delta functions: three or more variables are averaged over functions only."""
    for function, order in factors:
        if any(function.has_jump(k) for k in range(order)):
            got = f"a derivative of order {order} across a kink, among {len(factors)} variables"
            raise DomainError("activation", got, "factors that are functions where there are more than two variables")


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def product_moment(factors: Factors, rule: ProductRule, K: Float[Array, "n n"]) -> Array:
    r"""$\langle\prod_i f_i^{(k_i)}(z_i)\rangle_K$ for one covariance; `rule` serves what has no closed form."""
    if len(factors) == 1:
        (f, order) = factors[0]
        return line_derivative(f.derivative(order), f.kinks, f.places, 0, K[0, 0])
    if len(factors) == 2:
        (f, i), (g, j) = factors
        return mixed_moment(f, i, g, j, rule, K[0, 0], K[0, 1], K[1, 1])
    closed = _closed(factors, K)
    if closed is not None:
        return closed
    if not isinstance(rule, GridRule) or _have_kinks(factors):
        return _on_panels((factors,), rule, K)[0]
    return _on_grid(factors, rule, K)


@product_moment.defjvp
def _product_moment_jvp(factors, primals, tangents):
    (rule, K), (_, dK) = primals, tangents  # a rule is data, but no variable
    if len(factors) == 1:
        (f, order) = factors[0]
        average = functools.partial(line_derivative, f.derivative(order), f.kinks, f.places, 0)
        return jax.jvp(lambda k: average(k[0, 0]), (K,), (dK,))
    value = product_moment(factors, rule, K)
    if len(factors) > 2 and _closed(factors, K) is not None:
        return value, jax.jvp(lambda k: _closed(factors, k), (K,), (dK,))[1]
    if len(factors) > 2 and isinstance(rule, GridRule) and not _have_kinks(factors):
        return jax.jvp(lambda k: _on_grid(factors, rule, k), (K,), (dK,))
    return value, _stein(lambda i, j: product_moment(_raised(factors, i, j), rule, K), dK)


def _have_kinks(factors: Factors) -> bool:
    return any(f.kinks for f, _ in factors)


def _on_grid(factors: Factors, rule: GridRule, K: Float[Array, "n n"]) -> Array:
    half = (len(factors) + 1) // 2
    return product_table((factors[:half],), (factors[half:],), rule, K)[0, 0]


def _on_panels(products: tuple[Factors, ...], rule: ProductRule, K: Float[Array, "n n"]) -> Float[Array, " products"]:
    """Products over two to four variables, of functions with kinks or steep places, which are the same for each variable."""
    for factors in products:
        _check_regular(factors)
    places = tuple(f.places.reaching(rule if isinstance(rule, PanelRule) else None) for f, _ in products[0])
    average = piecewise.product_averages if len(K) == 2 else smoothed.product_averages
    return average(tuple(map(_differentiated, products)), places, K)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def kinked_products(
    products: tuple[Factors, ...], rule: ProductRule, K: Float[Array, "n n"]
) -> Float[Array, " products"]:
    """`product_moment` for several products of powers of one function of two to four variables: what they share is done once."""
    return _on_panels(products, rule, K)


@kinked_products.defjvp
def _kinked_products_jvp(products, primals, tangents):
    (rule, K), (_, dK) = primals, tangents
    slopes = [_stein(lambda i, j, each=each: product_moment(_raised(each, i, j), rule, K), dK) for each in products]
    return kinked_products(products, rule, K), jnp.stack(slopes)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def product_table(
    left: tuple[Factors, ...], right: tuple[Factors, ...], rule: GridRule, K: Float[Array, "n n"]
) -> Float[Array, "left right"]:
    """The averages of every product of smooth functions in `left`, over the first variables, times every one in `right`, over
    the rest: one grid for all of them."""
    return split_averages(left, right, K, rule)


@product_table.defjvp
def _product_table_jvp(left, right, primals, tangents):
    """All derivatives that Stein's lemma asks for from one grid."""
    (rule, K), (_, dK) = primals, tangents
    m, n = len(left[0]), len(K)
    pairs = list(itertools.combinations_with_replacement(range(n), 2))
    new_left, from_left = _every_raised(left, [(i, j) for i, j in pairs])
    new_right, from_right = _every_raised(right, [(i - m, j - m) for i, j in pairs])
    table = product_table(new_left, new_right, rule, K)
    slopes = table[from_left[1:, :, None], from_right[1:, None, :]]
    i, j = np.transpose(pairs)
    directions = (dK[i, j] + dK[j, i]) / np.where(i == j, 4.0, 2.0)
    return table[from_left[0][:, None], from_right[0]], jnp.tensordot(directions, slopes, axes=1)


def _every_raised(
    products: tuple[Factors, ...], pairs: list[tuple[int, int]]
) -> tuple[tuple[Factors, ...], Int[np.ndarray, "_ products"]]:
    """What differs among these products as they are and differentiated in each of the pairs of variables, and which of it each is."""
    every = [products, *(tuple(_raised(factors, i, j) for factors in products) for i, j in pairs)]
    different = {factors: place for place, factors in enumerate(dict.fromkeys(itertools.chain(*every)))}
    return tuple(different), np.array([[different[factors] for factors in each] for each in every])


def _differentiated(factors: Factors) -> tuple[Callable[[Array], Array], ...]:
    return tuple(f.derivative(order) for f, order in factors)


def _raised(factors: Factors, i: int, j: int) -> Factors:
    """Differentiated once more in variables i and j, where these are among the factors'."""
    return tuple((f, order + (k == i) + (k == j)) for k, (f, order) in enumerate(factors))


def _stein(raised: Callable[[int, int], Array], dK: Float[Array, "n n"]) -> Array:
    """The change of an average with the covariance, from averages that are `raised` by a derivative in variables i and j."""
    pairs = itertools.combinations_with_replacement(range(len(dK)), 2)
    terms = [raised(i, j) * (dK[i, j] + dK[j, i]) / (4 if i == j else 2) for i, j in pairs]
    return functools.reduce(jnp.add, terms)
