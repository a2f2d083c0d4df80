r"""Moments of the depth-averaged tangent kernel in closed form.

For linear networks with noise $\kappa$ and $\tau = \kappa T$, every pair of depths $s < t$ contributes the fluctuation of what lies
below, that of what lies above, and of the layers between, which both passes see:
$E[\tfrac{\Phi_r}{\Phi_0}\tfrac{G_0}{G_r}] = \tfrac13(e^{2r} + 2e^{-r})$. With
$x_1 = \Phi_0^{\alpha\beta}\Phi_0^{\gamma\delta}$ and $\bar x$ the mean of the three pairings,

$$E[\overline\Theta^{\alpha\beta}\overline\Theta^{\gamma\delta}] = \frac2{3\tau^2}\int_0^\tau ds\int_s^\tau dt\,
  \bigl[\bar x\,e^{2s} + (x_1 - \bar x)e^{-s}\bigr]\bigl(e^{2(t-s)} + 2e^{-(t-s)}\bigr)e^{2(\tau-t)}.$$

The norms of shaped-ReLU networks move like those of linear ones, so that this holds for each diagonal entry, where it is
$(\Phi_0^{\alpha\alpha})^2e^{2\tau}\bigl[\tfrac13 + \tfrac4{3\tau^2}(\tfrac\tau3 - \tfrac{1-e^{-3\tau}}9)\bigr]$.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


class TangentMoments(NamedTuple):
    """First and second moments of the tangent kernel of a linear network."""

    mean: Float[np.ndarray, "m m"]
    second: Float[np.ndarray, "m m m m"]
    r"""$E[\overline\Theta^{\alpha\beta}\overline\Theta^{\gamma\delta}]$."""


def linear_tangent_moments(V0: Float[np.ndarray, "m m"], noise_time: float) -> TangentMoments:
    r"""At $\tau = \kappa T$."""
    paired = np.einsum("ab,cd->abcd", V0, V0)
    average = (paired + np.einsum("ac,bd->abcd", V0, V0) + np.einsum("ad,bc->abcd", V0, V0)) / 3
    growing, shrinking = _double_integral(2.0, noise_time), _double_integral(-1.0, noise_time)
    return TangentMoments(V0, average * growing + (paired - average) * shrinking)


def _double_integral(power: float, tau: float) -> float:
    r"""$\frac2{3\tau^2}\int_0^\tau ds\int_s^\tau dt\,e^{ps}(e^{2(t-s)} + 2e^{-(t-s)})e^{2(\tau-t)}$; the inner integral in closed form."""
    s = tau * (_NODES + 1) / 2
    left = tau - s
    # Of e^(2 left) (1 + 2 e^(-3 r)) over r from 0 to left.
    inner = np.exp(2 * left) * (left - 2 / 3 * np.expm1(-3 * left))
    return float(2 / (3 * tau**2) * tau / 2 * np.sum(_WEIGHTS * np.exp(power * s) * inner))
