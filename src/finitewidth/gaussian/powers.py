r"""Averages $\langle\prod_i f(z_i)^{p_i}\rangle_K$: products with repeated variables, integrated over the distinct ones."""

import functools

import numpy as np
from jaxtyping import Array, Float

from .function import Function
from .hermite import HermiteRule
from .products import Factors, product_moment


@functools.lru_cache(maxsize=256)
def power(function: Function, exponent: int) -> Function:
    """The function raised to an integer power, with the same kinks."""
    return function if exponent == 1 else Function(lambda z: function(z) ** exponent, function.kinks)


def power_average(
    function: Function, powers: tuple[int, ...], K: Float[Array, "n n"], rule: HermiteRule | None = None
) -> Array:
    r"""$\langle\prod_i f(z_i)^{p_i}\rangle_K$ of distinct variables."""
    if function.has_closed_product:
        repeated = np.repeat(np.arange(len(powers)), powers)
        return product_moment(((function, 0),) * len(repeated), rule, K[repeated[:, None], repeated])
    factors: Factors = tuple((power(function, p), 0) for p in powers)
    return product_moment(factors, rule, K)
