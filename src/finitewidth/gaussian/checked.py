"""Averages of this room as its users call them: arguments are looked at first. Other rooms call the averages themselves, in traces."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError, ShapeError
from .._validation import as_count, as_covariance, as_elementwise, as_floats, as_number, is_concrete
from . import line, pairs, sign_moments
from .function import Function

_MOST_FACTORS, _MOST_BARE = 4, 2
_MOST_DERIVATIVES = 32
_ROUNDING = 1e-12


@entry()
def pair_moment(f: Function, i: int, j: int, Kaa: Any, Kab: Any, Kbb: Any) -> Array:
    r"""$\langle f^{(i)}(z_a)\,f^{(j)}(z_b)\rangle_K$ of one function, elementwise over covariances.

    Examples:
        >>> round(float(fw.gaussian.pair_moment(fw.ACTIVATIONS["relu"], 0, 0, 1.0, 0.5, 2.0)), 6)
        0.364299
    """
    orders = as_count(i, "i", at_least=0), as_count(j, "j", at_least=0)
    if max(orders) > _MOST_DERIVATIVES:  # each is a program in which those before it stand several times
        name = "i" if orders[0] > _MOST_DERIVATIVES else "j"
        raise DomainError(name, max(orders), f"at most {_MOST_DERIVATIVES} derivatives")
    aa, ab, bb = _variances(Kaa, "Kaa", 0.0), as_floats(Kab, "Kab"), _variances(Kbb, "Kbb", 0.0)
    try:
        np.broadcast_shapes(aa.shape, ab.shape, bb.shape)
    except ValueError:
        raise ShapeError("Kab", f"shapes {aa.shape}, {ab.shape}, {bb.shape}", "covariances of one shape") from None
    if is_concrete(aa) and is_concrete(ab) and is_concrete(bb):
        largest = np.sqrt(aa) * np.sqrt(bb)
        if bool((np.abs(ab) > largest * (1 + _ROUNDING)).any()):
            raise DomainError("Kab", "a covariance beyond the root of Kaa Kbb", "|Kab| <= sqrt(Kaa Kbb)")
    return pairs.pair_moment(f, *orders, aa, ab, bb)


@entry()
def square_average(f: Function, K: Any) -> Array:
    r"""$g(K) = \langle f(z)^2\rangle_K$ of one variable, PDLT (5.5), elementwise; differentiable to any order.

    Examples:
        >>> round(float(fw.gaussian.square_average(fw.ACTIVATIONS["relu"], 2.0)), 6)
        1.0
    """
    return pairs.square_average(f, _variances(K, "K"))


@entry()
def line_average(function: Callable[[Array], Array], K: Any, kinks: Sequence[float] = ()) -> Array:
    r"""$\langle f(z)\rangle_K$ for each positive variance in `K`, for `function` analytic between its `kinks`.

    Examples:
        >>> round(float(fw.gaussian.line_average(lambda z: z**4, 2.0)), 6)
        12.0
    """
    known = Function(as_elementwise(function, "function"), tuple(kinks)).kinks
    return line.line_average(function, _variances(K, "K"), known)


@entry()
def two_slope_average(a_plus: float, a_minus: float, exponents: Any, K: Any) -> Array:
    r"""$\langle\prod_i\sigma(z_i)^{p_i}\sigma'(z_i)^{q_i}\rangle_K$ for slopes $a_\pm$, at most four factors and $\sum p_i \le 2$.

    Examples:
        >>> round(float(fw.gaussian.two_slope_average(1.0, 0.0, ((1, 1), (1, 1)), [[1.0, 0.5], [0.5, 2.0]])), 6)
        0.364299
    """
    slopes = as_number(a_plus, "a_plus"), as_number(a_minus, "a_minus")
    covariance = as_covariance(K, "K")
    powers = as_floats(exponents, "exponents")
    whole = is_concrete(powers) and bool(((powers >= 0) & (powers == np.round(powers))).all())
    if powers.shape != (len(covariance), 2) or not whole or len(powers) > _MOST_FACTORS:
        wanted = f"whole powers (p, q) for each of the {len(covariance)} variables of `K`, of which there may be {_MOST_FACTORS}"
        raise ShapeError("exponents", f"shape {powers.shape}" if whole else repr(exponents)[:60], wanted)
    pairs_of_powers = tuple((int(p), int(q)) for p, q in powers)
    if sum(p for p, _ in pairs_of_powers) > _MOST_BARE:
        raise DomainError("exponents", f"powers p that sum to {sum(p for p, _ in pairs_of_powers)}", "at most 2")
    return sign_moments.two_slope_average(*slopes, pairs_of_powers, covariance)


def _variances(K: Any, argument: str, low: float = np.finfo(float).tiny) -> Array:
    """Variances that are not negative; not zero either, unless `low` is."""
    values = as_floats(K, argument)
    if is_concrete(values) and bool((np.asarray(values) < low).any()):
        raise DomainError(
            argument, f"{np.asarray(values).min():g}", "variances >= 0" if low == 0 else "positive variances"
        )
    return values
