"""Relative learning rates with which every layer learns alike: the equivalence principle."""

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import BlowUpError, DomainError
from ..critical.classes.classes import Criticality
from ..critical.classes.classify import criticality
from ..critical.large_depth.tangent_asymptotics import decay_exponents
from ..expansion.tangent_layers import tangent_contributions
from ..networks import LayeredNetwork, as_layered

Rates = tuple[Float[Array, " L"], Float[Array, " L"]]


@entry()
def equivalence_rates(net: LayeredNetwork, x: Any = None) -> Rates:
    r"""$\lambda_b^{(\ell)}$ and $\lambda_W^{(\ell)}$ with which all layers, and biases as much as weights, contribute alike to the
    tangent kernel of the output, and it does not grow with depth: the equivalence principle, PDLT (9.94)-(9.96).

    Without `x`, by the power laws of the activation's class at its critical initialisation, which `tune` sets:

    - scale-invariant: $\lambda_b = \lambda_W = \frac1L$, PDLT (9.94);
    - $K^\star = 0$: $\lambda_b^{(\ell)} = \ell^{-p_\perp}L^{p_\perp-1}$ and $\lambda_W^{(\ell)} = (L/\ell)^{p_\perp-1}$, PDLT (9.95);
      $\frac1\ell$ and 1 for odd functions such as tanh, PDLT (9.96). Where the kernel falls as $\ell^{-p_0}$ with another power
      (softsign), its weights follow it: $\lambda_W^{(\ell)} = \ell^{p_0-p_\perp}L^{p_\perp-1}$;
    - half-stable (GELU, SWISH), on which the book is silent: the signals stay at $K^\star$ and both susceptibilities at one, so
      that all layers contribute alike with the rates of the first class, $\frac1L$.

    With `x`, for the network as it is, critical or not: the contributions of every layer and group to the mean of
    $\Theta^{(L)}_{\alpha\alpha}$ over these inputs are computed by the recursion, PDLT (9.28), and normalised to $\frac1{2L}$ each, so
    that it is one. Far from criticality that takes exponentially different rates, and is no substitute for `tune`.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> [np.asarray(rates).round(4).tolist() for rates in fw.advice.equivalence_rates(net)]
        [[0.3333, 0.3333, 0.3333], [0.3333, 0.3333, 0.3333]]
    """
    as_layered(net)
    if x is None:
        return rates_of_class(net, criticality(net.activation))
    split = tangent_contributions(net.replace(lambda_b=1.0, lambda_W=1.0), x)
    groups = [part.diagonal(axis1=1, axis2=2).mean(axis=1) for part in (split.bias, split.weight)]
    if not all((group > 0).all() for group in groups):
        raise BlowUpError(f"Some layer of {net!r} contributes nothing to the tangent kernel: call `tune` first.")
    bias, weight = (1 / (2 * net.depth * group) for group in groups)
    return bias, weight


def rates_of_class(net: LayeredNetwork, verdict: Criticality) -> Rates:
    """The power laws of a class, PDLT (9.94)-(9.96)."""
    if verdict.point is None:
        got = f"{verdict.activation!r}, which has no critical point: {verdict.reason}"
        raise DomainError("activation", got, "one that can be tuned, or inputs `x` to normalise by")
    p_0, p_perp = decay_exponents(net.activation, verdict.universality_class)
    if math.isinf(p_perp):  # no power law: normalised for inputs of unit size
        critical = net.replace(C_b=verdict.point.C_b, C_W=verdict.point.C_W)
        return equivalence_rates(critical, np.ones((1, net.widths[0])))
    layer = np.arange(1.0, net.depth + 1)
    bias = layer**-p_perp * net.depth ** (p_perp - 1)
    return bias, bias * layer**p_0
