r"""Averages $\langle\prod_i f(z_i)^{p_i}f'(z_i)^{q_i}\cdots\rangle_K$: products with repeated variables, over the distinct ones."""

import functools
import operator
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .function import Function
from .grid import GridRule
from .places import Places
from .products import Factors, ProductRule, kinked_products, product_moment, product_table

_AT_ONCE = (2, 3, 4)  # variables

Exponents = tuple[tuple[int, ...], ...]
"""For each distinct variable the powers of the function, of its slope and of as many further derivatives as there are numbers."""


@dataclass(frozen=True)
class _Power(Function):
    """A function made of another, which varies around the same places."""

    base: Function = field(kw_only=True)

    @property
    def places(self) -> Places:
        """Those of the function that is raised to powers."""
        return self.base.places


@functools.lru_cache(maxsize=256)
def power(function: Function, *powers: int) -> Function:
    """The function and its derivatives raised to integer powers, with the same kinks."""
    if powers[0] == 1 and not any(powers[1:]):
        return function
    factors = [(function.derivative(order), exponent) for order, exponent in enumerate(powers) if exponent]

    def product(z: Array) -> Array:
        return functools.reduce(operator.mul, (factor(z) ** exponent for factor, exponent in factors))

    return _Power(product, function.kinks, base=function)


def power_average(function: Function, exponents: Exponents, K: Float[Array, "n n"], rule: ProductRule = None) -> Array:
    r"""$\langle\prod_i f(z_i)^{p_i}f'(z_i)^{q_i}\cdots\rangle_K$ of distinct variables."""
    if function.has_closed_product:
        closed = _closed(function, (exponents,), K)
        if closed is not None:
            return closed[0]
        variables = np.repeat(np.arange(len(exponents)), list(map(sum, exponents)))
        orders = tuple(order for powers in exponents for order in np.repeat(range(len(powers)), powers).tolist())
        return product_moment(tuple((function, o) for o in orders), rule, K[variables[:, None], variables])
    return product_moment(_factors(function, exponents), rule, K)


def _closed(
    function: Function, patterns: tuple[Exponents, ...], K: Float[Array, "n n"]
) -> Float[Array, " patterns"] | None:
    if any(any(powers[2:]) for exponents in patterns for powers in exponents):
        return None
    return function.closed_powers(
        tuple(tuple((powers[0], powers[1]) for powers in exponents) for exponents in patterns), K
    )


def power_averages(
    function: Function, patterns: tuple[Exponents, ...], K: Float[Array, "n n"], rule: ProductRule = None
) -> Float[Array, " patterns"]:
    r"""$\langle\prod_i f(z_i)^{p_i}f'(z_i)^{q_i}\cdots\rangle_K$ for several patterns of exponents of the same variables.

    Two or more variables of a smooth function share one grid.
    """
    closed = _closed(function, patterns, K) if function.has_closed_product else None
    if closed is not None:
        return closed
    if not isinstance(rule, GridRule) or function.kinks or function.has_closed_product:
        if len(K) in _AT_ONCE and not function.has_closed_product:
            return kinked_products(tuple(_factors(function, exponents) for exponents in patterns), rule, K)
        return _alike_together(function, patterns, K, rule)
    if len(K) == 1:
        z = jnp.sqrt(K[0, 0]) * rule.u
        return jnp.stack([power(function, *pattern[0])(z) for pattern in patterns]) @ rule.weights
    half = (len(K) + 1) // 2
    left, right = ({pattern[side]: None for pattern in patterns} for side in (slice(half), slice(half, None)))
    groups = (tuple(_factors(function, exponents) for exponents in side) for side in (left, right))
    places = [(list(left).index(pattern[:half]), list(right).index(pattern[half:])) for pattern in patterns]
    return product_table(*groups, rule, K)[tuple(np.transpose(places))]


def _alike_together(
    function: Function, patterns: tuple[Exponents, ...], K: Float[Array, "n n"], rule: ProductRule
) -> Float[Array, " patterns"]:
    """Patterns that are the same but for the names of their variables, in one go: what is compiled is one of them."""
    alike: dict[Exponents, list[tuple[int, list[int]]]] = {}
    for place, pattern in enumerate(patterns):
        order = sorted(range(len(pattern)), key=lambda i, powers=pattern: (-sum(powers[i]), *(-p for p in powers[i])))
        alike.setdefault(tuple(pattern[i] for i in order), []).append((place, order))
    averages = jnp.zeros(len(patterns), K.dtype)
    for exponents, members in alike.items():
        places, orders = (np.array(column) for column in zip(*members, strict=True))
        renamed = K[orders[:, :, None], orders[:, None, :]]
        average = functools.partial(power_average, function, exponents, rule=rule)
        averages = averages.at[places].set(jax.vmap(average)(renamed))
    return averages


def _factors(function: Function, exponents: Exponents) -> Factors:
    return tuple((power(function, *powers), 0) for powers in exponents)
