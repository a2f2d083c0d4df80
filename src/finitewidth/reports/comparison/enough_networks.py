r"""How many networks to draw before sample means are those of the law, by what theory knows of it.

Networks that decide a mean may be too rare to be among those drawn: then the sample looks harmless, and its own errors are too small.
A kernel is a product of one factor a layer, nearly log-normal, and theory knows its relative variance $v$. With
$\langle x^k\rangle = (1+v)^{k(k-1)/2}$ the skewness $\gamma$ of what is averaged is known before anything is drawn, and with it the
networks that stand behind a standard error, $M/(1+\gamma^2)$ as in `ensembles.tails`.
"""

import math

import numpy as np
from jaxtyping import Float

from ...results.measurement import ENOUGH_NETWORKS

VARIANCES = ("V", "A", "B", "D", "F")
"""Quantities that are variances and covariances over networks; the others are means."""


def needed_for_mean(v: Float[np.ndarray, " R"]) -> Float[np.ndarray, " R"]:
    r"""Networks for the mean of a log-normal kernel, $\gamma = (v + 3)\sqrt v$."""
    return ENOUGH_NETWORKS * (1 + (v + 3) ** 2 * v)


def needed_for_variance(v: Float[np.ndarray, " R"]) -> Float[np.ndarray, " R"]:
    r"""Networks for its variance, which averages $(x-1)^2$: variance $\mu_4 - \mu_2^2$, third cumulant $\mu_6 - 3\mu_4\mu_2 + 2\mu_2^3$."""
    normal = v < _NORMAL  # there central moments cancel: sqrt 8 is the skewness of a squared normal number
    mu2, mu4, mu6 = (_central(np.where(normal, 1.0, v), order) for order in (2, 4, 6))
    squared = (mu6 - 3 * mu4 * mu2 + 2 * mu2**3) ** 2 / (mu4 - mu2**2) ** 3
    return ENOUGH_NETWORKS * (1 + np.where(normal, 8.0, squared))


_NORMAL = 1e-4


def _central(v: Float[np.ndarray, " R"], order: int) -> Float[np.ndarray, " R"]:
    terms = [math.comb(order, k) * (-1) ** (order - k) * (1 + v) ** (k * (k - 1) // 2) for k in range(order + 1)]
    return np.sum(terms, axis=0)


def effective(quantity: np.ndarray, v: Float[np.ndarray, " R"], networks: int) -> Float[np.ndarray, " R"]:
    """Of so many networks, those behind each entry's standard error, in a layer where the kernel's relative variance is `v` to first
    order."""
    with np.errstate(over="ignore", invalid="ignore"):
        v = np.expm1(v)  # layers multiply: 1 + v is the product of what theory adds up
        needed = np.where(np.isin(quantity, VARIANCES), needed_for_variance(v), needed_for_mean(v))
        found = np.where(np.isfinite(needed), networks * ENOUGH_NETWORKS / needed, 0.0)
    return np.where(v == 0, networks, found)  # what does not fluctuate is known from one network
