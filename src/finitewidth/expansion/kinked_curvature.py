r"""$\langle\sigma''_0\sigma'_1\sigma'_2\sigma_3\rangle_K$ of an activation with one kink, two lines of slopes $a_\pm$ that meet at zero.

$\sigma''$ is a delta function. Slopes of the sample on which it sits are half on one side, half on the other: where $m$ of the samples 1, 2
are sample 0, $\sigma''_0\sigma_0'^m = \big(\sigma_0'^{m+1}\big)'/(m+1)$, as in the limit of smooth activations. So

$$\langle\sigma''_0\sigma'_1\sigma'_2\sigma_3\rangle = \frac{a_+^{m+1} - a_-^{m+1}}{(m+1)\sqrt{2\pi K_{00}}}\,
  E\Big[\prod_{j\in\{1,2\},\,j\ne0}\sigma'_j\;\sigma_3\,\Big|\,z_0 = 0\Big].$$

With $\sigma' = a + h\,s$, $\sigma = a z + h|z|$, $a = (a_++a_-)/2$, $h = (a_+-a_-)/2$ and signs $s$, the average needs

$$E|z_3| = \sqrt{2K_{33}/\pi},\quad E[s_1z_3] = K_{13}\sqrt{2/\pi K_{11}},\quad
  E[s_1s_2|z_3|] = \sum_{(j,k,l)}K_{3j}\sqrt{\tfrac2{\pi K_{jj}}}\,\tfrac2\pi\arcsin\rho_{kl|j},$$

the last over the cyclic orders of 123, by Stein's lemma; $\rho_{kl|j}$ is the correlation that is left when $z_j$ is known.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array

_GONE = 1e-12  # of a variance, beside what it was before another variable was known: rounding


def kinked_curvature(a_plus: float, a_minus: float, K: Float[Array, "N N"]) -> Float[Array, "N N N N"]:
    """The average for all samples, axes 0123."""
    zero, one, two, three = np.indices((len(K),) * 4)
    given = _given_each(K)  # [0, k, l]: the covariance that is left when z_0 is known
    twice = _given_each(given)  # [0, j, k, l]: when z_j is known, too
    scale = np.sqrt(2 / np.pi) * _inverse_root(jnp.diagonal(given, axis1=1, axis2=2))

    def pull(j: np.ndarray) -> Array:
        """$E[s_jz_3]$, which is $E|z_3|$ for j = 3."""
        return given[zero, j, three] * scale[zero, j]

    def left_over(j: np.ndarray, k: np.ndarray, m: np.ndarray) -> Array:
        """$E[s_ks_m]$ when z_j = 0, zero where that leaves nothing of z_k or z_m."""
        roots = _inverse_root(jnp.diagonal(twice, axis1=2, axis2=3))
        rho = twice[zero, j, k, m] * roots[zero, j, k] * roots[zero, j, m]
        return 2 / np.pi * jnp.arcsin(jnp.clip(rho, -1.0, 1.0))

    cyclic = ((three, one, two), (one, two, three), (two, three, one))
    both = sum(pull(j) * left_over(j, k, m) for j, k, m in cyclic)
    both = jnp.where((one == three) & (two == three), pull(three), both)
    a, h = (a_plus + a_minus) / 2, (a_plus - a_minus) / 2
    own = (one == zero).astype(int) + (two == zero)
    of_others = jnp.select(
        [own == 0, own == 1],
        [
            a**2 * h * (pull(three) + pull(one) + pull(two)) + h**3 * both,
            a * h * (pull(three) + pull(np.where(one == zero, two, one))),
        ],
        h * pull(three),
    )
    weights = np.array([(a_plus ** (m + 1) - a_minus ** (m + 1)) / (m + 1) for m in range(3)])[own]
    density = 1 / jnp.sqrt(2 * jnp.pi * jnp.diagonal(K))[zero]
    return jnp.where(three == zero, 0.0, weights * density * of_others)


def _given_each(covariance: Float[Array, "*batch N N"]) -> Float[Array, "*batch N N N"]:
    """For each variable the covariance that is left when it is known; variances that are rounding are set to zero."""
    variances = jnp.diagonal(covariance, axis1=-2, axis2=-1)
    known = variances > 0
    inverse = jnp.where(known, 1 / jnp.where(known, variances, 1.0), 0.0)
    explained = covariance[..., :, :, None] * covariance[..., :, None, :] * inverse[..., :, None, None]
    left = covariance[..., None, :, :] - explained
    before = variances[..., None, :]
    after = jnp.diagonal(left, axis1=-2, axis2=-1)
    kept = after > _GONE * before
    return jnp.where(kept[..., :, None] & kept[..., None, :], left, 0.0)


def _inverse_root(variances: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Zero for a variance of zero."""
    known = variances > 0
    return jnp.where(known, 1 / jnp.sqrt(jnp.where(known, variances, 1.0)), 0.0)
