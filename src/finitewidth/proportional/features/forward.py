r"""The covariance of features: $d\Phi = \gamma_b\,b(\Phi)\,dt + (\kappa\Sigma_{\rm lin}(\Phi))^{1/2}dB$."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Float

from ..._arrays import Array
from .coefficients import Coefficients
from .noise import shaken

_LARGEST, _SMALLEST = 1e12, 1e-290
"""Beyond, covariances are held where they are."""


class Forward(NamedTuple):
    """A path of the covariance on the whole grid."""

    Phi: Float[Array, "points m m"]
    step: Float[Array, " steps"]
    """The steps taken: zero where the covariance is held, so that nothing else moves there either."""


def forward(of: Coefficients, V0: Float[Array, "m m"], Z: Float[Array, "steps m m"], step: Array) -> Forward:
    """Half a kernel map, noise, half a kernel map: positive, and of second order in what is not noise."""

    def advance(state: tuple[Array, Array], z: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        Phi, stopped = state
        half = of.bends.value_kernel(Phi, of.weight * step / 2)
        new = of.bends.value_kernel(shaken(half, z, of.noise * step), of.weight * step / 2)
        size = jnp.linalg.norm(new)
        stopped = stopped | ~((size < _LARGEST) & (size > _SMALLEST))  # NaN is outside, too
        Phi = jnp.where(stopped, Phi, (new + new.T) / 2)
        return (Phi, stopped), (Phi, jnp.where(stopped, 0.0, step))

    _, (Phi, taken) = lax.scan(advance, (V0, jnp.asarray(False)), Z)
    return Forward(jnp.concatenate([V0[None], Phi]), taken)
