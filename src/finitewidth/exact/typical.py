r"""Typical scale-invariant networks: the law of the logarithm of kernel and gradients.

Without biases the kernel of one input is a product of independent factors $C_Wy$, $y = \frac1n\sum_j\sigma(u_j)^2$, one for each
hidden layer it has passed, and so is the squared gradient, with $y = \frac1n\sum_jg_j^2\,\sigma'(u_j)^2$ of the same law for each
layer to come: $\sigma'^2$ is $a_\pm^2$ on either side of zero. Sums of logarithms of many factors are Gaussian but for a little skewness.
"""

from typing import Any

import numpy as np
import scipy
from jaxtyping import Float

from .._entry import entry
from .._validation import as_inputs
from ..activations.families import ScaleInvariant
from ..networks import MLP, as_mlp
from ..results.typical import TYPICAL_LEVELS, TypicalNetworks


@entry()
def typical_scale_invariant(net: MLP, x: Any) -> TypicalNetworks | None:
    r"""Medians and central ranges of 90 % of kernel and gradients, for the first of the inputs `x`; `None` for other activations, and
    with biases behind the first layer.

    The logarithm has a nearly Gaussian law with the exact mean $\mu$, variance $s^2$ and third cumulant $\kappa_3$, whose quantile at the
    level of $z$ normal deviations is $\mu + sz + \frac{\kappa_3}{6s^2}(z^2-1)$. A network with a layer of ReLUs that are all off, one layer
    in $2^n$, has no signal and no gradient.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.exact.typical_scale_invariant(net, [[1.0, 0.5]]).kernel.shape
        (3, 3)
    """
    activation, inputs = as_mlp(net).activation, np.asarray(as_inputs(x, "x", net.widths[0]))
    if not isinstance(activation, ScaleInvariant) or np.asarray(net.C_b)[1:].any():
        return None
    of_factors = np.asarray([_log_cumulants(activation, n) for n in net.hidden_widths], dtype=float).reshape(-1, 3)
    of_factors[:, 0] += np.log(np.asarray(net.C_W)[1:])
    widths = np.asarray(net.hidden_widths, dtype=float)
    alive = np.append(
        0.0, np.cumsum(np.log1p(-(2.0**-widths)) if activation.a_plus * activation.a_minus == 0 else 0 * widths)
    )
    start = float(np.asarray(net.first_kernel(inputs[:1]))[0, 0])
    passed = np.concatenate([np.zeros((1, 3)), np.cumsum(of_factors, axis=0)])
    of_gradients = np.where(np.arange(net.depth) < net.depth - 1, alive[-1], 0.0)
    return TypicalNetworks(start * _quantiles(passed, alive), _quantiles(passed[-1] - passed, of_gradients))


def _quantiles(
    cumulants: Float[np.ndarray, "L 3"], log_alive: Float[np.ndarray, " L"]
) -> Float[np.ndarray, "levels L"]:
    """Of the exponential, zero for the networks that are dead."""
    mean, variance, third = cumulants.T
    dead = -np.expm1(log_alive)
    found = []
    for level in TYPICAL_LEVELS:
        z = scipy.special.ndtri(np.clip((level - dead) / (1 - dead), 0.0, 1.0))
        skew = np.divide(third, 6 * variance, where=variance > 0, out=np.zeros_like(third))
        with np.errstate(invalid="ignore"):
            value = np.exp(mean + np.sqrt(np.maximum(variance, 0.0)) * z + skew * (z**2 - 1))
        found.append(np.where(level > dead, np.where(variance > 0, value, np.exp(mean)), 0.0))
    return np.stack(found)


def _log_cumulants(activation: ScaleInvariant, n: int) -> tuple[float, float, float]:
    r"""Mean, variance and third cumulant of $\ln y$. Given how many neurons are on the right of zero,
    $ny = a_+^2\chi^2_p + a_-^2\chi^2_{n-p}$ is taken as the Gamma variable of its mean and variance, which it is if a slope vanishes
    (ReLU) or both are equal."""
    right, left = activation.a_plus**2, activation.a_minus**2
    p = np.arange(n + 1)
    total = right * p + left * (n - p)
    of_signs = np.exp(
        scipy.special.gammaln(n + 1) - scipy.special.gammaln(p + 1) - scipy.special.gammaln(n - p + 1) - n * np.log(2.0)
    )
    share = np.where(total > 0, of_signs, 0.0)
    p, total, share = p[share > 0], total[share > 0], share[share > 0] / share.sum()
    shape = total**2 / (2 * (right**2 * p + left**2 * (n - p)))
    means = scipy.special.digamma(shape) - np.log(shape) + np.log(total / n)
    mean = float(share @ means)
    off, variances = means - mean, scipy.special.polygamma(1, shape)
    return (
        mean,
        float(share @ (variances + off**2)),
        float(share @ (scipy.special.polygamma(2, shape) + 3 * variances * off + off**3)),
    )
