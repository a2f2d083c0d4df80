r"""Averages of two signs, alone and with two bare factors, for all pairs of many Gaussian variables at once."""

import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array, diagonal
from .._entry import entry
from .._memory import check_four_samples
from .._validation import as_covariance
from .angle import arcsine, correlation

_COINCIDENT = 1e-14  # of 1 - rho^2: below, two signs are one and the bracket, which vanishes, would be 0/0


@entry()
def sign_pairs(K: Any) -> Float[Array, "m m"]:
    r"""$\langle\mathrm{sgn}z_\alpha\,\mathrm{sgn}z_\beta\rangle_K = \tfrac2\pi\arcsin\rho^{\alpha\beta}$; one on the diagonal.

    Examples:
        >>> fw.gaussian.sign_pairs(np.array([[1.0, 0.5], [0.5, 1.0]])).round(6).tolist()
        [[1.0, 0.333333], [0.333333, 1.0]]
    """
    K = as_covariance(K, "K")
    return jnp.where(jnp.eye(len(K), dtype=bool), 1.0, 2 / math.pi * arcsine(_correlations(K)[0]))


@entry()
def sign_pair_moments(K: Any) -> Float[Array, "m m m m"]:
    r"""$\Psi^{\alpha\beta;\gamma\delta} = \langle\mathrm{sgn}z_\alpha\,\mathrm{sgn}z_\beta\,z_\gamma z_\delta\rangle_K$, all of them:
    with $x_\gamma = K_{\gamma\alpha}/\sqrt{K_{\alpha\alpha}}$, $y_\gamma = K_{\gamma\beta}/\sqrt{K_{\beta\beta}}$ and
    $\rho = \rho^{\alpha\beta}$,

    $$\Psi^{\alpha\beta;\gamma\delta} = \frac2\pi\arcsin\rho\;K_{\gamma\delta}
      + \frac2{\pi\sqrt{1-\rho^2}}\bigl[x_\gamma y_\delta + y_\gamma x_\delta - \rho\,(x_\gamma x_\delta + y_\gamma y_\delta)\bigr].$$

    The bracket vanishes as $\rho \to \pm1$, where $\Psi = \pm K_{\gamma\delta}$.

    Examples:
        >>> Psi = fw.gaussian.sign_pair_moments(np.array([[1.0, 0.0], [0.0, 1.0]]))
        >>> round(float(Psi[0, 1, 0, 1]), 6), float(Psi[0, 0, 1, 1])
        (0.63662, 1.0)
    """
    K = as_covariance(K, "K")
    check_four_samples(6.0, 1, len(K), "K")
    rho, root = _correlations(K)
    unit = K * root  # unit[gamma, alpha] is x_gamma for the sign alpha
    apart = (1 - rho) * (1 + rho)
    over_sine = jnp.where(apart > _COINCIDENT, 1 / jnp.sqrt(jnp.where(apart > _COINCIDENT, apart, 1.0)), 0.0)
    mixed = jnp.einsum("ga,db->abgd", unit, unit)
    alike = jnp.einsum("ga,da->agd", unit, unit)
    bracket = mixed + mixed.swapaxes(2, 3) - rho[:, :, None, None] * (alike[:, None] + alike[None])
    return sign_pairs(K)[:, :, None, None] * K + 2 / math.pi * over_sine[:, :, None, None] * bracket


def _correlations(K: Float[Array, "m m"]) -> tuple[Float[Array, "m m"], Float[Array, " m"]]:
    """Correlations, and one over the roots of the variances; zero for variables that do not fluctuate."""
    variances = diagonal(K)
    root = jnp.where(variances > 0, 1 / jnp.sqrt(jnp.where(variances > 0, variances, 1.0)), 0.0)
    return correlation(K * root[:, None] * root, jnp.ones(())), root
