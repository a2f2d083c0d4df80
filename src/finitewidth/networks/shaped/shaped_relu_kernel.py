r"""Correlations under a leaky ReLU whose two slopes are almost one.

With $\varphi_s(x) = \bar s x + \hat s|x|$, $\bar s = (s_+ + s_-)/2$, $\hat s = (s_+ - s_-)/2$, and unit variances,

$$\frac{E[\varphi_s(w)\varphi_s(w')]}{E[\varphi_s(w)^2]} = \rho + \frac{\hat s^2}{\bar s^2 + \hat s^2}\,(\kappa(\rho) - \rho),\qquad
  \kappa(\rho) = E|w||w'| = \tfrac2\pi\bigl(\sqrt{1-\rho^2} + \rho\arcsin\rho\bigr).$$

Everything follows from the excess $\kappa(\rho) - \rho = \tfrac2\pi(\sin\theta - \theta\cos\theta)$, $\rho = \cos\theta$.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array, diagonal

# sin t - t cos t = t^3 sum_k c_k t^(2k): below this angle the two terms cancel and the series is exact to rounding.
_SMALL_ANGLE = 0.3
_SERIES = [(-1) ** k * 2 * (k + 1) / math.factorial(2 * k + 3) for k in range(7)]


def angle(rho: Float[Array, "*s"] | float) -> Float[Array, "*s"]:
    r"""$\arccos\rho$ without loss of digits at $\rho = \pm1$, beyond which correlations are clipped."""
    rho = jnp.clip(rho, -1.0, 1.0)
    return jnp.arctan2(jnp.sqrt((1 - rho) * (1 + rho)), rho)


@jax.custom_jvp
def kernel_excess(rho: Float[Array, "*s"] | float) -> Float[Array, "*s"]:
    r"""$\kappa(\rho) - \rho = \tfrac2\pi(\sqrt{1-\rho^2} - \rho\arccos\rho)$: 2 at $-1$, $2/\pi$ at 0, and 0 at 1."""
    cosine = jnp.clip(rho, -1.0, 1.0)
    sine = jnp.sqrt((1 - cosine) * (1 + cosine))
    theta = jnp.arctan2(sine, cosine)
    square = theta * theta
    series = theta * square * jnp.polyval(jnp.asarray(_SERIES[::-1]), square, unroll=len(_SERIES))
    return 2 / math.pi * jnp.where(theta < _SMALL_ANGLE, series, sine - theta * cosine)


@kernel_excess.defjvp
def _kernel_excess_jvp(primals: tuple[Array | float], tangents: tuple[Array | float]) -> tuple[Array, Array]:
    return kernel_excess(*primals), kernel_excess_slope(*primals) * tangents[0]


def kernel_excess_slope(rho: Float[Array, "*s"] | float) -> Float[Array, "*s"]:
    r"""$\frac{d}{d\rho}(\kappa - \rho) = -\tfrac2\pi\arccos\rho$."""
    return -2 / math.pi * angle(rho)


def correlation_and_scale(V: Float[Array, "*s m m"]) -> tuple[Float[Array, "*s m m"], Float[Array, "*s m m"]]:
    r"""$\rho^{\alpha\beta}$ and $\sqrt{V^{\alpha\alpha}V^{\beta\beta}}$; the diagonal is one, and zero inputs correlate with nothing."""
    xp = np if isinstance(V, np.ndarray) else jnp  # on numbers at hand JAX would compile every operation
    deviation = xp.sqrt(xp.maximum(diagonal(V), 0.0))
    scale = deviation[..., :, None] * deviation[..., None, :]
    rho = xp.clip(V / xp.where(scale > 0, scale, 1.0), -1.0, 1.0)
    return xp.where(xp.eye(V.shape[-1], dtype=bool), 1.0, rho), scale
