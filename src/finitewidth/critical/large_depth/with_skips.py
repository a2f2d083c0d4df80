"""`criticality`: the verdict on an activation, in networks with skip connections too."""

import dataclasses
from collections.abc import Callable

from ..._arrays import Array
from ..._entry import entry
from ..._errors import ArgumentError
from ...activations import Activation, ScaleInvariant, as_activation
from ...networks import LayeredNetwork, ResidualMLP
from ...networks.residual import refuse_norm
from ..classes.classes import Criticality, CriticalPoint, Exponents, UniversalityClass
from ..classes.classify import criticality as without_skips
from .residual import critical_gamma, residual_nu


@entry()
def criticality(
    activation: str | Activation | Callable[[Array], Array] | LayeredNetwork, gamma: float | None = None
) -> Criticality:
    r"""Universality class, critical initialisations, coefficients and exponents of an activation.

    Looks for kernels with $\chi_\parallel = \chi_\perp = 1$, PDLT (5.71)-(5.73): at $K^\star = 0$ through the series
    of the activation, PDLT (5.83)-(5.90), and at finite $K^\star$ through the roots of $\mathcal R(K) = 1$.

    With skip connections both susceptibilities are $\gamma^2$ plus those without, PDLT (B.15)-(B.16), so that every critical point stays
    where it is with $(C_b, C_W)(\gamma) = (1-\gamma^2)\,(C_b, C_W)(0)$, PDLT (B.20)-(B.21); exponents stay, and $\nu$ becomes
    `critical.residual_nu`.

    **Arguments:**

    - `activation`: a name, an `Activation`, or any elementwise JAX callable; or a network, of which the activation and the skip
      connections count.
    - `gamma`: the strength of skip connections, between -1 and 1; that of the network, or none.

    Examples:
        >>> print(fw.criticality("relu"))
        relu: scale-invariant (tunable)
          chi_parallel = chi_perp = A_2 C_W for every kernel
          critical point: (C_b, C_W) = (0, 2), K* = any, neutral: every kernel is a fixed point
          exponents: p_0 = 0, p_par = 0, p_perp = 2, p_psi = 1, p_V = -1; V/(n K^2) -> 5 l/n
        >>> fw.criticality("relu", gamma=0.5**0.5).point.C_W
        1.0
    """
    if isinstance(activation, LayeredNetwork):
        if gamma is not None:
            raise ArgumentError("gamma", f"{gamma}, beside a network", "nothing: the network has its own")
        refuse_norm(activation, "activation", "no critical point", "norm=None")
        sigma = activation.activation
        gamma = float(activation.gamma) if isinstance(activation, ResidualMLP) else 0.0
    else:
        sigma = as_activation(activation)
    g = critical_gamma(0.0 if gamma is None else gamma)
    verdict = without_skips(sigma)
    if g == 0:
        return verdict
    exponents = verdict.exponents
    if exponents is not None and verdict.point is not None:
        exponents = _exponents(sigma, verdict, exponents, g)
    reason = f"without skips, {verdict.reason}; gamma = {g:.6g} multiplies (C_b, C_W) by 1 - gamma^2 = {1 - g**2:.6g}"
    points = tuple(_with_skip(point, g) for point in verdict.critical_points)
    return dataclasses.replace(verdict, critical_points=points, reason=reason, exponents=exponents)


def _with_skip(point: CriticalPoint, gamma: float) -> CriticalPoint:
    """PDLT (B.20)-(B.21), and the same for a finite kernel."""
    rest = 1 - gamma**2
    return dataclasses.replace(point, C_b=rest * point.C_b, C_W=rest * point.C_W, a1_tilde=rest * point.a1_tilde)


def _exponents(sigma: Activation, verdict: Criticality, exponents: Exponents, gamma: float) -> Exponents:
    r"""The same but for $\nu$; and $G^{\{1\}}$, which vanishes for scale-invariant MLPs, grows linearly where $\sigma^2$ is not
    proportional to $z^2$."""
    p_1 = exponents.p_1
    if verdict.universality_class is UniversalityClass.SCALE_INVARIANT:
        bent = not isinstance(sigma, ScaleInvariant) or abs(sigma.a_plus) != abs(sigma.a_minus)
        p_1 = -1.0 if bent else None
    return dataclasses.replace(exponents, p_1=p_1, nu=residual_nu(sigma, gamma))
