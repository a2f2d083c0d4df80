"""The public door to Gaussian averages of products."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._arrays import Array
from .._entry import entry
from .._errors import ArgumentError, DomainError, ShapeError
from .._validation import as_covariance, is_concrete
from .accuracy import TRACED_VARIANCE, pair_rule, product_rule
from .function import ElementwiseFunction, Function
from .hermite import HermiteRule
from .pairs import mixed_moment
from .products import product_moment

_MOST_VARIABLES = 6
_MOST_KINKED_VARIABLES = 4


@entry()
def gaussian_expectation(functions: Sequence[Function | ElementwiseFunction], covariance: Any) -> Array:
    r"""$\langle\prod_i f_i(z_i)\rangle_K$ for up to six jointly Gaussian variables of zero mean, PDLT (1.68).

    Closed forms where they are known, otherwise spectrally accurate quadrature; relative accuracy 1e-10 for one and two
    variables and 1e-8 for more, for functions that vary on a scale of order one and variances up to about ten.

    **Arguments:**

    - `functions`: elementwise JAX callables, activations, or `Function(value, kinks)` for functions with kinks.
    - `covariance`: positive semi-definite, shape (n, n); it may be singular, and it may be differentiated through.
    """
    K = as_covariance(covariance, "covariance")
    if len(functions) != len(K) or not 1 <= len(K) <= _MOST_VARIABLES:
        got = f"{len(functions)} functions and {len(K)} variables"
        raise ShapeError("functions", got, f"one function for each of at most {_MOST_VARIABLES} variables")
    if not all(callable(f) for f in functions):
        raise ArgumentError("functions", "something that is not callable", "elementwise JAX callables")
    wrapped = [f if isinstance(f, Function) else Function(f) for f in functions]
    if not is_concrete(K):
        return _average(wrapped, K, TRACED_VARIANCE)
    variances = np.diagonal(np.asarray(K))
    random = np.flatnonzero(variances > 0)  # a variable without variance is zero
    constant = jnp.prod(
        jnp.stack([wrapped[i](jnp.zeros(())) for i in range(len(K)) if i not in random] or [jnp.ones(())])
    )
    if len(random) == 0:
        return constant
    return constant * _average([wrapped[i] for i in random], K[np.ix_(random, random)], float(variances.max()))


def _average(functions: list[Function], K: Array, largest_variance: float) -> Array:
    if len(set(functions)) > 1:  # closed forms are known for one function at a time
        functions = [Function(f.value, f.kinks) for f in functions]
    kinked = any(f.kinks and not f.has_closed_product for f in functions)
    if kinked and len(functions) > _MOST_KINKED_VARIABLES:
        got = f"{len(functions)} variables, some with kinks"
        raise DomainError("functions", got, f"at most {_MOST_KINKED_VARIABLES} variables where there are kinks")
    if len(functions) == 2:
        f, g = functions
        for_f, for_g = (pair_rule(h, largest_variance, derivatives=0) for h in (f, g))
        grid = max(for_f, for_g, key=lambda rule: rule.nodes) if for_f and for_g else None
        return mixed_moment(f, 0, g, 0, grid, K[0, 0], K[0, 1], K[1, 1])
    rules = [product_rule(f, largest_variance) for f in dict.fromkeys(functions)]
    return product_moment(tuple((f, 0) for f in functions), _finest(rules), K)


def _finest(rules: Sequence[HermiteRule | None]) -> HermiteRule | None:
    """One rule that is fine enough for all functions; none if one of them has none."""
    chosen = [rule for rule in rules if rule is not None]
    if len(chosen) < len(rules):
        return None
    finest = max(chosen, key=lambda rule: rule.nodes)
    return HermiteRule(max(rule.order for rule in chosen), finest.nodes, finest.reach)
