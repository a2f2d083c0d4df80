r"""Averages $\langle\prod_i f(z_i)^{p_i}f'(z_i)^{q_i}\rangle_K$: products with repeated variables, over the distinct ones."""

import functools

import numpy as np
from jaxtyping import Array, Float

from .function import Function
from .hermite import HermiteRule
from .products import Factors, product_moment

Exponents = tuple[tuple[int, int], ...]
"""For each distinct variable the powers of the function and of its slope."""


@functools.lru_cache(maxsize=256)
def power(function: Function, of_value: int, of_slope: int = 0) -> Function:
    """The function and its slope raised to integer powers, with the same kinks."""
    if (of_value, of_slope) == (1, 0):
        return function
    slope = function.derivative(1)
    if of_slope == 0:
        return Function(lambda z: function(z) ** of_value, function.kinks)
    return Function(lambda z: function(z) ** of_value * slope(z) ** of_slope, function.kinks)


def power_average(
    function: Function, exponents: Exponents, K: Float[Array, "n n"], rule: HermiteRule | None = None
) -> Array:
    r"""$\langle\prod_i f(z_i)^{p_i}f'(z_i)^{q_i}\rangle_K$ of distinct variables."""
    if function.has_closed_product:
        variables = np.repeat(np.arange(len(exponents)), [p + q for p, q in exponents])
        orders = tuple(order for p, q in exponents for order in (0,) * p + (1,) * q)
        closed = function.closed_powers(exponents, K)
        if closed is not None:
            return closed
        return product_moment(tuple((function, o) for o in orders), rule, K[variables[:, None], variables])
    factors: Factors = tuple((power(function, p, q), 0) for p, q in exponents)
    return product_moment(factors, rule, K)
