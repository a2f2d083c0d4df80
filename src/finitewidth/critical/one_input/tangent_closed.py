"""The tangent kernel where the kernel of a critical network does not move: closed solutions at every depth."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._validation import as_floats, as_number
from .tangent_single_input import TangentSource

Layers = Float[Array, "*l"]


@entry()
def constant_kernel(
    at: TangentSource, C_W: float, layer: Any, lambda_b: float, lambda_W: float
) -> tuple[Layers, Layers, Layers, Layers, Layers, Layers]:
    r"""$\Theta$, $V$, $D$, $F$, $B$, $A$ for $\chi_\parallel = \chi_\perp = 1$, a constant $K$ and uniform rates.

    The recursions PDLT (9.6)-(9.21) are sums then. With $\theta = \lambda_b + \lambda_Wg$, $k = \lambda_W/C_W$, the sources
    $s = C_W^2(\langle\sigma^4\rangle-g^2)$, $m = C_W^2\langle\sigma^2\sigma'^2\rangle$, $q = C_W^2\langle\sigma'^4\rangle$, and
    $u = ks + \theta(m - C_Wg)$:

    $$\Theta = \theta\ell,\quad V = s(\ell-1),\quad F = m\theta\tfrac{\ell(\ell-1)}2,\quad B = q\theta^2\tfrac{\ell(\ell-1)(2\ell-1)}6,\quad
      D = u\tfrac{\ell(\ell-1)}2 + 2hs\theta\tfrac{\ell(\ell-1)(\ell-2)}3,$$

    $$A = \sum_{j<\ell}\Big[-k^2sj + 2kD^{(j+1)} + 4h\theta j\,D^{(j)} + \theta^2j^2\big(q - 1 + 4h^2s(j-1)\big)\Big].$$

    Scale-invariant, $h = 0$: PDLT (9.42), (9.44), (9.49)-(9.51), and $A$ with all the terms that PDLT (9.52) leaves out. At the
    critical point of a half-stable activation $h \ne 0$: then $D \sim \ell^3$ and $A \sim \ell^5$.

    Examples:
        >>> at = fw.critical.tangent_source(fw.critical.tangent_averages(fw.ACTIVATIONS["relu"], 1.0), 2.0)
        >>> Theta, *_ = fw.critical.constant_kernel(at, 2.0, [1.0, 2.0], 1.0, 1.0)
        >>> Theta.tolist()
        [1.5, 3.0]
    """
    C_W = as_number(C_W, "C_W", low=float(np.finfo(float).tiny))
    lambda_b, lambda_W = as_number(lambda_b, "lambda_b", low=0.0), as_number(lambda_W, "lambda_W", low=0.0)
    layer = as_floats(layer, "layer")
    theta, k, h, s = lambda_b + lambda_W * at.g, lambda_W / C_W, at.h, at.v
    u = k * s + theta * at.mixed_covariance
    one, two, three, four = _power_sums(layer - 1)
    A = k * (u * (two + one) - k * s * one) + theta**2 * at.slope_variance * two
    A = A + 2 * h * theta * (2 / 3 * k * s * (three - one) + u * (three - two))
    A = A + 4 * h**2 * s * theta**2 * (2 / 3 * (four - 3 * three + 2 * two) + three - two)
    D = u * one + 2 / 3 * h * s * theta * layer * (layer - 1) * (layer - 2)
    return theta * layer, s * (layer - 1), D, at.mixed * theta * one, at.slopes * theta**2 * two, A


def _power_sums(m: Layers) -> tuple[Layers, Layers, Layers, Layers]:
    r"""$\sum_{j=1}^mj^p$ for $p = 1..4$."""
    one, two = m * (m + 1) / 2, m * (m + 1) * (2 * m + 1) / 6
    return one, two, one**2, two * (3 * m**2 + 3 * m - 1) / 5
