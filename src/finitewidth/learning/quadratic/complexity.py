r"""How many numbers a model is made of, and what becomes of polynomials that have too many."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import DomainError, ShapeError
from ..._result import Result
from ..._validation import as_count, as_floats
from ..kernel.linear_model import fit_linear_model


class FeatureCount(Result, eqx.Module):
    """Numbers and functions that someone must choose to write a model down."""

    parameters: int = eqx.field(static=True)
    """$n_{out}(n_f+1)$, PDLT (11.120)."""
    linear_functions: int = eqx.field(static=True)
    """Features of a linear model, $n_f+1$, PDLT (11.122)."""
    quadratic_functions: int = eqx.field(static=True)
    r"""Features and meta features, $(n_f+1) + \frac12(n_f+1)(n_f+2)$, PDLT (11.121)."""


@entry()
def feature_count(features: int, outputs: int = 1) -> FeatureCount:
    r"""The complexity of linear and quadratic models with $n_f$ features beside the constant, PDLT (11.120)-(11.122).

    Examples:
        >>> fw.learning.feature_count(3, outputs=2).quadratic_functions
        14
    """
    one_more = as_count(features, "features", at_least=0) + 1
    return FeatureCount(as_count(outputs, "outputs") * one_more, one_more, one_more + one_more * (one_more + 1) // 2)


@entry()
def couplings_at_order(order: int, samples: int, trained: int = 0, outputs: int = 1) -> int:
    r"""How many numbers decide predictions to an order in $1/n$: exactly $n_{out}N_{\mathcal A} + N_{\mathcal D}(N_{\mathcal D}+1)$ at
    infinite width, PDLT (ε.14), targets, kernel and tangent kernel; and in the leading power $N_{\mathcal D}^4$ at order 1,
    PDLT (ε.15), $N_{\mathcal D}^6$ at order 2, PDLT (ε.23), hence $N_{\mathcal D}^{2k+2}$ at order $k$, where PDLT (ε.25) has $2k$.

    **Arguments:**

    - `order`: $k$.
    - `samples`, `trained`, `outputs`: $N_{\mathcal D}$, $N_{\mathcal A}$ and $n_{out}$; the last two matter at order 0.

    Examples:
        >>> fw.learning.couplings_at_order(0, samples=5, trained=3, outputs=2)
        36
    """
    N, k = as_count(samples, "samples"), as_count(order, "order", at_least=0)
    if k:
        return N ** (2 * k + 2)
    A = as_count(trained, "trained", at_least=0)
    if A > N:
        raise DomainError("trained", A, f"at most {N}, all samples")
    return as_count(outputs, "outputs") * A + N * (N + 1)


class PolynomialFit(Result, eqx.Module):
    """A polynomial through points."""

    coefficients: Float[Array, " powers"]
    r"""$w^\star_j$ of $x^j$; of least norm where points do not fix them."""
    where: Float[Array, " M"]
    fitted: Float[Array, " M"]
    """Its values there."""
    turns: int = eqx.field(static=True)
    """How often it turns between the first and the last point of `where`."""


@entry()
def polynomial_fit(x: Any, y: Any, degree: int, where: Any) -> PolynomialFit:
    r"""Polynomial regression, $z(x) = w_0 + w_1x + \dots + w_{n_f}x^{n_f}$, PDLT (11.123), with the weights of PDLT (11.115).

    The book's example of a model with too many parameters, $n_f+1 > N_{\mathcal A}$, whose curve turns to pass through noise:
    `turns` counts how often.

    **Arguments:**

    - `x`, `y`: points, as many of each.
    - `degree`: $n_f$.
    - `where`: ascending points at which to look at the polynomial.

    Examples:
        >>> fit = fw.learning.polynomial_fit([0.0, 1.0, 2.0], [1.0, 2.0, 3.0], 1, [0.0, 4.0])
        >>> fit.fitted.round(6).tolist(), fit.turns
        ([1.0, 5.0], 0)
    """
    points, targets, at = (np.asarray(as_floats(v, n)) for v, n in ((x, "x"), (y, "y"), (where, "where")))
    if points.ndim != 1 or targets.shape != points.shape or len(points) == 0:
        raise ShapeError("x, y", f"shapes {points.shape} and {targets.shape}", "two vectors of one length")
    if at.ndim != 1 or len(at) < 2 or not (np.diff(at) > 0).all():
        raise ShapeError("where", f"shape {at.shape}", "two or more ascending numbers")
    powers = np.arange(as_count(degree, "degree", at_least=0) + 1)
    w = fit_linear_model(points[:, None] ** powers, targets)[0]
    fitted = (at[:, None] ** powers) @ w
    rises = np.sign(np.diff(fitted))
    rises = rises[rises != 0]
    return PolynomialFit(w, at, fitted, int(np.sum(rises[1:] != rises[:-1])))
