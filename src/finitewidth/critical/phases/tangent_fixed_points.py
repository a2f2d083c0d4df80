"""The tangent kernel far down a network off criticality: where it and its fluctuations settle."""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp

from ..._arrays import Array
from ..._entry import entry
from ..._result import Result
from ..._validation import as_number
from ...activations import Activation, as_activation
from ..one_input.tangent_averages import tangent_averages_at
from ..one_input.tangent_single_input import tangent_source
from .fixed_points import fixed_points


@dataclass(frozen=True, repr=False)
class TangentFixedPoint(Result):
    r"""Limits of great depth at a kernel $K^\star > 0$ that attracts, for hidden layers of equal width and uniform rates."""

    K_star: float
    chi_parallel: float
    chi_perp: float
    Theta: float
    V: float
    D: float
    F: float
    B: float
    A: float


@entry()
def tangent_fixed_points(
    activation: str | Activation | Callable[[Array], Array],
    C_b: float,
    C_W: float,
    lambda_b: float = 1.0,
    lambda_W: float = 1.0,
) -> tuple[TangentFixedPoint, ...]:
    r"""Where $\Theta$, $V$, $D$, $F$, $B$ and $A$ of one input end at every kernel $K^\star > 0$ with
    $|\chi_\parallel|, \chi_\perp < 1$, by increasing $K^\star$.

    These are the fixed points of the recursions PDLT (9.6), (9.14)-(9.15), (9.19)-(9.21). Where $\chi_\perp \ge 1$ the tangent
    kernel grows without bound and there is none; with $\chi_\perp < 1$ the share of shallow layers dies exponentially,
    PDLT (9.28), however harmless the limit looks.

    Examples:
        >>> [round(point.K_star, 6) for point in fw.critical.tangent_fixed_points("relu", C_b=1.0, C_W=1.0)]
        [2.0]
    """
    sigma = as_activation(activation)
    weight = as_number(C_W, "C_W", low=0.0)
    rates = as_number(lambda_b, "lambda_b", low=0.0), as_number(lambda_W, "lambda_W", low=0.0)
    kernels = [point.K_star for point in fixed_points(sigma, C_b, weight) if point.K_star]
    ends = [_settled(sigma, K, weight, *rates) for K in kernels]
    return tuple(end for end in ends if end is not None)


def _settled(
    activation: Activation, K: float, C_W: float, lambda_b: float, lambda_W: float
) -> TangentFixedPoint | None:
    at = tangent_source(tangent_averages_at(activation, jnp.asarray(K)), C_W)
    g, parallel, perp, h, v, mixed, slopes, mixed_covariance, slope_variance = map(float, at)
    if not (abs(parallel) < 1 and perp < 1):
        return None
    k, theta = lambda_W / C_W, (lambda_b + lambda_W * g) / (1 - perp)
    V = v / (1 - parallel**2)
    D = (k * V + theta * (mixed_covariance + 2 * h * parallel * V)) / (1 - parallel * perp)
    from_slopes = 4 * h * perp * theta * D + theta**2 * (slope_variance + 4 * h**2 * V)
    return TangentFixedPoint(
        K,
        parallel,
        perp,
        Theta=theta,
        V=V,
        D=D,
        F=mixed * theta / (1 - parallel**2),
        B=slopes * theta**2 / (1 - perp**2),
        A=(-(k**2) * V + 2 * k * D + from_slopes) / (1 - perp**2),
    )
