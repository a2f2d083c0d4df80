r"""How many networks stand behind a standard error: a few large ones may decide it.

A mean of $M$ independent contributions $y$ is within two of its standard errors of the truth in 95 % of all runs if $y$ is nearly
normal. By the Edgeworth expansion of Student's $t$ its deviation in standard errors has mean $-\gamma/2\sqrt M$, with $\gamma$ the
skewness of $y$, and two standard errors hold the truth less often by about $(1 + \gamma^2)/4M$. So

$$M_{\rm eff} = \frac{M}{1 + \gamma^2}$$

counts the networks that matter: all if $y$ is normal, a ninth if $y$ is the square of a normal number. In a sample $\gamma^2$ is
at most about $M$, and comes near it as soon as one network outweighs all others: then $M_{\rm eff}$ is about one, whatever the tail.
"""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Bool, Float

from .._arrays import Array, at_hand

# Fluctuations below this part of the largest entry of a layer are rounding.
_ROUNDING = 1e-12


class Tails(eqx.Module):
    r"""Sums over samples of $[(x - \text{reference})/\text{scale}]^p$, $p = 1, 2, \dots$ along the first axis.

    The reference is the first sample, so that nothing cancels, and the scale its largest entry, so that nothing overflows.
    """

    count: Float[Array, ""]
    reference: Float[Array, "layers *shape"]
    scale: Float[Array, " layers"]
    powers: Float[Array, "orders layers *shape"]


def no_tails(shape: tuple[int, ...], orders: int) -> Tails:
    """Nothing yet, of samples of a `shape` that begins with layers: three orders for means, six for covariances too."""
    return Tails(np.zeros(()), np.zeros(shape), np.ones(shape[0]), np.zeros((orders, *shape)))


def add_tails(tails: Tails, samples: Float[Array, "B layers *shape"], counted: Bool[Array, " B"]) -> Tails:
    """The sums with those `samples` that are `counted`, the very first of which must be."""
    size = jnp.max(jnp.abs(samples[0]).reshape(len(tails.scale), -1), axis=1)
    none_yet = tails.count == 0
    reference = jnp.where(none_yet, samples[0], tails.reference)
    scale = jnp.where(none_yet & (size > 0), size, tails.scale)
    d = (samples - reference) / scale.reshape(-1, *[1] * (samples.ndim - 2))
    d = jnp.where(counted.reshape(-1, *[1] * (samples.ndim - 1)), d, 0)
    _, sums = lax.scan(lambda power, _: (power * d, jnp.sum(power, axis=0)), d, length=len(tails.powers))
    return Tails(tails.count + jnp.sum(counted), reference, scale, tails.powers + sums)


def effective_of_mean(tails: Tails) -> Float[Array, "layers *shape"]:
    r"""The networks behind the standard error of a mean: $\gamma = \mu_3/\mu_2^{3/2}$."""
    tails = at_hand(tails)
    central = _central(tails, 3)
    return _effective(tails.count, central[3], central[2], _ROUNDING**2)


def effective_of_variance(tails: Tails) -> Float[Array, "layers *shape"]:
    r"""The networks behind the standard error of a variance, whose contributions $(x - \bar x)^2$ have the variance
    $\mu_4 - \mu_2^2$ and the third cumulant $\mu_6 - 3\mu_4\mu_2 + 2\mu_2^3$."""
    tails = at_hand(tails)
    central = _central(tails, 6)
    mu2, mu4, mu6 = central[2], central[4], central[6]
    cumulant = mu6 - 3 * mu4 * mu2 + 2 * mu2**3
    return _effective(tails.count, cumulant, mu4 - mu2**2, np.maximum(1e-9 * mu2**2, _ROUNDING**4))


def _effective(count: Array, cumulant: Array, variance: Array, rounding: Array | float) -> Array:
    fluctuates = variance > rounding
    safe = np.where(fluctuates, variance, 1)
    return count / (1 + np.where(fluctuates, cumulant**2 / safe**3, 0))


def _central(tails: Tails, order: int) -> list[Array]:
    """Central moments up to an order, by the binomial theorem."""
    raw = [np.ones_like(tails.powers[0]), *(tails.powers[:order] / tails.count)]
    shift = -raw[1]
    terms = [[math.comb(k, j) * raw[j] * shift ** (k - j) for j in range(k + 1)] for k in range(order + 1)]
    return [sum(each, np.zeros(())) for each in terms]
