"""The public door to Gaussian averages of products."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._arrays import Array, diagonal
from .._entry import entry
from .._errors import ArgumentError, DomainError, ShapeError
from .._validation import as_covariance, is_concrete
from ..gaussian.accuracy import TRACED_VARIANCE, check_resolved, pair_rule, product_rule, within_traced_variance
from ..gaussian.function import Function
from ..gaussian.grid import GridRule
from ..gaussian.pairs import PairRule, mixed_moment
from ..gaussian.places import PanelRule
from ..gaussian.products import ProductRule, product_moment
from ..gaussian.tails import check_has_average
from .activation import Activation
from .as_activation import as_activation

_MOST_VARIABLES = 6
_MOST_ON_PANELS = 4


@entry()
def gaussian_expectation(functions: Sequence[Function | Callable[[Array], Array]], covariance: Any) -> Array:
    r"""$\langle\prod_i f_i(z_i)\rangle_K$ for up to six jointly Gaussian variables of zero mean, PDLT (1.68).

    Closed forms where they are known, otherwise spectrally accurate quadrature; relative accuracy 1e-10 for one and two
    variables and 1e-8 for more. Functions may be steep, and may have kinks and jumps, which are looked for if they are not
    declared. What no quadrature resolves and what has no average is refused.

    **Arguments:**

    - `functions`: elementwise JAX callables, activations, or `Function(value, kinks)`; repeat one object where two variables have
      the same function.
    - `covariance`: positive semi-definite, shape (n, n); it may be singular. It may be differentiated through, to any order for
      one and two variables; where a function has kinks among three or more, only as far as no delta function appears.

    Examples:
        >>> round(float(fw.gaussian_expectation([fw.ACTIVATIONS["relu"]] * 2, [[1.0, 0.0], [0.0, 1.0]])), 6)
        0.159155
    """
    K = jnp.asarray(as_covariance(covariance, "covariance"))
    if len(functions) != len(K) or not 1 <= len(K) <= _MOST_VARIABLES:
        got = f"{len(functions)} functions and {len(K)} variables"
        raise ShapeError("functions", got, f"one function for each of at most {_MOST_VARIABLES} variables")
    if not all(callable(f) for f in functions):
        raise ArgumentError("functions", "something that is not callable", "elementwise JAX callables")
    known = {id(f): _with_all_kinks(f) for f in functions}
    wrapped = [known[id(f)] for f in functions]
    if not is_concrete(K):
        average = _average(wrapped, K, TRACED_VARIANCE)
        return within_traced_variance(average, diagonal(K), TRACED_VARIANCE)
    variances = np.diagonal(np.asarray(K))
    random = np.flatnonzero(variances > 0)  # a variable without variance is zero
    constant = jnp.prod(
        jnp.stack([wrapped[i](jnp.zeros(())) for i in range(len(K)) if i not in random] or [jnp.ones(())])
    )
    if len(random) == 0:
        return constant
    of_random, block = [wrapped[i] for i in random], K[np.ix_(random, random)]
    check_has_average(of_random, np.asarray(block))
    return constant * _average(of_random, block, float(variances.max()))


def _with_all_kinks(function: Function | Callable[[Array], Array]) -> Function:
    if not isinstance(function, Function):
        return as_activation(function, "functions")
    if type(function) is not Function:
        return function
    return as_activation(Activation(function.value, function.kinks), "functions")


def _average(functions: list[Function], K: Array, largest_variance: float) -> Array:
    if len(set(functions)) > 1:  # closed forms are known for one function at a time
        functions = [Function(f.value, f.kinks) for f in functions]
    different = list(dict.fromkeys(functions))
    for function in different:
        check_resolved(function, largest_variance, "functions")
    if len(functions) == 2:
        f, g = functions
        rule = _finest([pair_rule(h, largest_variance, derivatives=0) for h in different])
        return mixed_moment(f, 0, g, 0, rule, K[0, 0], K[0, 1], K[1, 1])
    rule = _finest([product_rule(f, largest_variance) for f in different])
    if isinstance(rule, PanelRule) and len(functions) > _MOST_ON_PANELS:
        got = f"{len(functions)} variables, some of functions with kinks or steep slopes and no closed form"
        raise DomainError("functions", got, f"at most {_MOST_ON_PANELS} variables for such functions")
    return product_moment(tuple((f, 0) for f in functions), rule, K)


def _finest(rules: Sequence[PairRule | ProductRule]) -> GridRule | PanelRule | None:
    """One rule that is fine enough for all functions: panels if one of them needs panels."""
    panels = [rule for rule in rules if isinstance(rule, PanelRule)]
    grids = [rule for rule in rules if isinstance(rule, GridRule)]
    if panels:
        return max(panels, key=lambda rule: (rule.deviation, rule.reach, rule.finer))
    return max(grids, key=lambda rule: rule.nodes, default=None)
