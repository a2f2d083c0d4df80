r"""Typical scale-invariant networks: the law of the logarithm of kernel and gradients.

Without biases the kernel of one input is a product of independent factors $C_Wy$, $y = \frac1n\sum_j\sigma(u_j)^2$, one for each
hidden layer it has passed, and so is the squared gradient, with $y = \frac1n\sum_jg_j^2\,\sigma'(u_j)^2$ of the same law for each
layer to come: $\sigma'^2$ is $a_\pm^2$ on either side of zero. Sums of logarithms of many factors are Gaussian.
"""

from typing import Any

import numpy as np
from scipy.special import digamma, ndtri, polygamma
from scipy.stats import binom

from .._entry import entry
from ..activations.families import ScaleInvariant
from ..networks import MLP, as_mlp
from ..results.typical import TYPICAL_LEVELS, TypicalNetworks


@entry()
def typical_scale_invariant(net: MLP, x: Any) -> TypicalNetworks | None:
    r"""Medians and central ranges of 90 % of kernel and gradients, for the first of the inputs `x`, by log-normal laws with the exact
    mean and variance of the logarithms; `None` for other activations, and with biases behind the first layer.

    A layer of ReLUs that are all off, one network in $2^n$, is left aside.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.exact.typical_scale_invariant(net, [[1.0, 0.5]]).kernel.shape
        (3, 3)
    """
    activation = as_mlp(net).activation
    if not isinstance(activation, ScaleInvariant) or np.asarray(net.C_b)[1:].any():
        return None
    of_factors = [_log_statistics(activation, n) for n in net.hidden_widths]
    mean, variance = np.asarray(of_factors, dtype=float).reshape(-1, 2).T
    mean = mean + np.log(np.asarray(net.C_W)[1:])
    start = float(np.asarray(net.first_kernel(np.asarray(x, dtype=float)[:1]))[0, 0])
    passed = np.stack([np.append(0.0, np.cumsum(part)) for part in (mean, variance)])
    to_come = passed[:, -1:] - passed
    return TypicalNetworks(start * _quantiles(*passed), _quantiles(*to_come))


def _quantiles(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    return np.stack([np.exp(mean + np.sqrt(np.maximum(variance, 0.0)) * ndtri(level)) for level in TYPICAL_LEVELS])


def _log_statistics(activation: ScaleInvariant, n: int) -> tuple[float, float]:
    r"""Mean and variance of $\ln y$. Given how many neurons are on the right of zero, $ny = a_+^2\chi^2_p + a_-^2\chi^2_{n-p}$ is taken as
    the Gamma variable of its mean and variance, which it is if a slope vanishes (ReLU) or both are equal."""
    right, left = activation.a_plus**2, activation.a_minus**2
    p = np.arange(n + 1)
    total = right * p + left * (n - p)
    share = np.where(total > 0, binom.pmf(p, n, 0.5), 0.0)
    p, total, share = p[share > 0], total[share > 0], share[share > 0] / share.sum()
    shape = total**2 / (2 * (right**2 * p + left**2 * (n - p)))
    means = digamma(shape) - np.log(shape) + np.log(total / n)
    mean = float(share @ means)
    return mean, float(share @ (polygamma(1, shape) + (means - mean) ** 2))
