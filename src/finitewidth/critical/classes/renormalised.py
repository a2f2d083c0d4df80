"""Initialisation that stays critical at finite width."""

import math
from collections.abc import Callable

from ..._arrays import Array
from ..._entry import entry
from ..._errors import DomainError
from ..._validation import as_count
from ...activations import Activation
from ..large_depth.residual import critical_gamma, residual_nu
from .classes import UniversalityClass
from .classify import criticality


def metric_tuning(order: float, nu: float) -> float:
    r"""$c_W^{\{1\}}/C_W$ that removes the leading $G^{\{1\}}$, PDLT (5.142): $\frac23$ for smooth activations.

    For $K' = K + cK^{q}$ ($q$ = `order`) and $V \to \nu\ell K^2$ the recursion PDLT (5.140) gives
    $G^{\{1\}} \to \frac12\big(c_W^{\{1\}}/C_W - \frac{q\nu}2\big)\,\ell K$.
    """
    return order * nu / 2


@entry()
def renormalised_C_W(
    activation: str | Activation | Callable[[Array], Array], width: int, *, gamma: float = 0.0
) -> float:
    r"""The critical $C_W$ of a network of hidden width $n$, PDLT (5.138)-(5.142).

    $C_W = \sigma_1^{-2}\big(1 + \frac{2}{3n}\big)$ in the $K^\star = 0$ class: with it the mean metric follows the
    infinite-width kernel at leading order in depth. Scale-invariant activations need no correction.

    With skips of strength `gamma` the class $K^\star = 0$ has $V \to \nu(\gamma)\ell K^2$, PDLT (B.35), while $C_W$ and what bends the
    kernel shrink by $1-\gamma^2$: $C_W = \frac{1-\gamma^2}{\sigma_1^2}\big(1 + \frac{2(1+\gamma^2)}{3n}\big)$, beyond the book.
    Scale-invariant activations then have a mean metric that grows with depth, which no such
    factor removes: they are refused.

    Examples:
        >>> round(fw.critical.renormalised_C_W("tanh", 100), 6)
        1.006667
    """
    n = as_count(width, "width")
    verdict = criticality(activation)
    point, exponents = verdict.point, verdict.exponents
    if point is None or exponents is None or verdict.universality_class is UniversalityClass.HALF_STABLE:
        raise DomainError(
            "activation",
            f"{verdict.activation!r}, of class {verdict.universality_class!s}",
            "an activation of the K*=0 or scale-invariant class",
        )
    skip = critical_gamma(gamma)
    if verdict.universality_class is UniversalityClass.SCALE_INVARIANT:
        if skip:
            raise DomainError("gamma", f"{skip:g} for a scale-invariant activation", "0, or the K*=0 class")
        return point.C_W
    if math.isinf(point.order):
        raise DomainError("activation", f"{verdict.activation!r}, whose kernel falls logarithmically", "a power law")
    rest = 1 - skip**2
    nu = residual_nu(activation, skip) if skip else exponents.nu
    return rest * point.C_W * (1 + metric_tuning(point.order, nu / rest) / n)
