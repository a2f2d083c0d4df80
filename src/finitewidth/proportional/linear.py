r"""The linear network, $dV = \Sigma_{\rm lin}(V)^{1/2}dB$: what is known of it exactly, in the limit and at finite width.

It is also the norm of any input of a shaped-ReLU network, whose drift vanishes on the diagonal. At finite width a layer is
Wishart, $V_{\ell+1}|V_\ell \sim \mathcal W_m(n, V_\ell)/n$, so that determinants are products of $\chi^2$ variables.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError
from .._memory import check_four_samples
from .._result import Result
from .._validation import as_count, as_covariance, as_number


class _Normal(NamedTuple):
    mean: float
    variance: float


class Normal(Result, _Normal):
    """Mean and variance, of a variable that is normal unless said otherwise."""


@entry()
def log_norm(depth_to_width: float, asymmetry: float = 0.0) -> Normal:
    r"""$\log(V_T/V_0)$ of one input is normal with mean $-\tfrac v2T$ and variance $vT$, $v = 2 + 3\zeta^2$.

    `asymmetry` is $\zeta = \frac{s_+^2 - s_-^2}{s_+^2 + s_-^2}$ of the two slopes of the activation: 0 for linear and for
    shaped networks ($v = 2$), 1 for an unshaped ReLU ($v = 5$).

    Examples:
        >>> fw.proportional.log_norm(0.5)
        Normal: mean = -0.5, variance = 1
    """
    time = as_number(depth_to_width, "depth_to_width", low=0.0)
    rate = 2 + 3 * as_number(asymmetry, "asymmetry", low=-1.0, high=1.0) ** 2
    return Normal(-rate / 2 * time, rate * time)


@entry()
def log_determinant(tokens: int, depth_to_width: float) -> Normal:
    r"""$\log\det V_T - \log\det V_0$ is normal with mean $-\tfrac{m(m+1)}2T$ and variance $2mT$.

    Examples:
        >>> fw.proportional.log_determinant(2, 0.5)
        Normal: mean = -1.5, variance = 2
    """
    m, time = as_count(tokens, "tokens"), as_number(depth_to_width, "depth_to_width", low=0.0)
    return Normal(-m * (m + 1) / 2 * time, 2 * m * time)


@entry()
def finite_log_determinant(tokens: int, width: int, depth: int) -> Normal:
    r"""Mean and variance of $\log\det V_d - \log\det V_0 = \sum_{\ell=1}^d\sum_{i=1}^m\log(\chi^2_{n-i+1}/n)$, exact at width
    $n$ (where it is not quite normal); one token gives the norm.

    Examples:
        >>> round(fw.proportional.finite_log_determinant(2, width=100, depth=50).variance, 6)
        2.030439
    """
    half = _degrees_of_freedom(tokens, width) / 2
    depth = as_count(depth, "depth", at_least=0)
    mean = depth * float(np.sum(scipy.special.digamma(half) + math.log(2 / width)))
    return Normal(mean, depth * float(np.sum(scipy.special.polygamma(1, half))))


@entry()
def sample_finite_log_determinant(
    tokens: int, width: int, depth: int, networks: int, seed: int = 0
) -> Float[np.ndarray, " networks"]:
    r"""$\log\det V_d - \log\det V_0$ of real linear networks, from $d\,m$ random numbers each.

    Examples:
        >>> fw.proportional.sample_finite_log_determinant(2, 100, 50, networks=4).shape
        (4,)
    """
    degrees = _degrees_of_freedom(tokens, width)
    random = np.random.default_rng(as_count(seed, "seed", at_least=0))
    total = np.zeros(as_count(networks, "networks"))
    for _ in range(as_count(depth, "depth", at_least=0)):
        total += np.log(random.chisquare(degrees, size=(len(total), len(degrees))) / width).sum(axis=1)
    return total


def _degrees_of_freedom(tokens: int, width: int) -> Float[np.ndarray, " m"]:
    m, n = as_count(tokens, "tokens"), as_count(width, "width")
    if n < m:
        raise DomainError("width", n, f"at least the number of tokens, {m}: the determinant is zero otherwise")
    return n - np.arange(m, dtype=float)


@entry()
def second_moments(V0: Any, depth_to_width: float) -> Float[Array, "m m m m"]:
    r"""$E[V_T^{\alpha\beta}V_T^{\gamma\delta}] = \bar x\,e^{2T} + (x_1 - \bar x)\,e^{-T}$, where $x_1 =
    V_0^{\alpha\beta}V_0^{\gamma\delta}$ and $\bar x$ is its mean over the three pairings of the indices.

    Examples:
        >>> fw.proportional.second_moments(fw.shaped.equal_tokens(2, 0.2), 0.5).shape
        (2, 2, 2, 2)
    """
    V = np.asarray(as_covariance(V0, "V0"))
    time = as_number(depth_to_width, "depth_to_width", low=0.0)
    check_four_samples(5.0, 1, len(V), "V0")
    first = np.einsum("ab,cd->abcd", V, V)
    mean = (first + np.einsum("ac,bd->abcd", V, V) + np.einsum("ad,bc->abcd", V, V)) / 3
    return mean * math.exp(2 * time) + (first - mean) * math.exp(-time)
