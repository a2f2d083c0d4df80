r"""Mean and covariance of a random vector with standard errors of both, from samples that pass by once.

Sums of powers are kept about a fixed reference near the mean, so that nothing cancels; sums from different samples
add up, in any order and from different references.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Moments(eqx.Module):
    r"""Sums over samples of $d_i^p d_j^q$ with $p, q \le 2$, where $d = x - \text{reference}$."""

    reference: Float[Array, "*batch P"]
    count: Float[Array, ""]
    d: Float[Array, "*batch P"]
    dd: Float[Array, "*batch P P"]
    ddd: Float[Array, "*batch P P"]
    """Sums of $d_i^2 d_j$."""
    dddd: Float[Array, "*batch P P"]
    """Sums of $d_i^2 d_j^2$."""


def empty(reference: Float[Array, "*batch P"]) -> Moments:
    """No samples yet; `reference` should be near the mean to come."""
    pairs = jnp.zeros((*reference.shape, reference.shape[-1]), reference.dtype)
    return Moments(reference, jnp.zeros((), reference.dtype), jnp.zeros_like(reference), pairs, pairs, pairs)


def add(moments: Moments, samples: Float[Array, "B *batch P"], counted: Bool[Array, " B"]) -> Moments:
    """The moments with those `samples` that are `counted`."""
    d = samples - moments.reference
    d = jnp.where(counted.reshape(-1, *[1] * (d.ndim - 1)), d, 0)

    def summed(left: Array, right: Array) -> Array:
        return jnp.einsum("s...i,s...j->...ij", left, right)

    return Moments(
        moments.reference,
        moments.count + jnp.sum(counted),
        moments.d + jnp.sum(d, axis=0),
        moments.dd + summed(d, d),
        moments.ddd + summed(d**2, d),
        moments.dddd + summed(d**2, d**2),
    )


def about(moments: Moments, reference: Float[Array, "*batch P"]) -> Moments:
    """The same samples' sums about another reference, by the binomial theorem."""
    shift = moments.reference - reference
    i, j = shift[..., :, None], shift[..., None, :]
    n, di, dj = moments.count, moments.d[..., :, None], moments.d[..., None, :]
    squares = jnp.diagonal(moments.dd, axis1=-2, axis2=-1)
    dii, djj = squares[..., :, None], squares[..., None, :]
    dij, diij, dijj = moments.dd, moments.ddd, jnp.swapaxes(moments.ddd, -1, -2)
    return Moments(
        reference,
        n,
        moments.d + n * shift,
        dij + j * di + i * dj + n * i * j,
        diij + j * dii + 2 * i * (dij + j * di) + i**2 * (dj + n * j),
        moments.dddd
        + 2 * (j * diij + i * dijj)
        + (j**2 * dii + 4 * i * j * dij + i**2 * djj)
        + 2 * i * j * (j * di + i * dj)
        + n * i**2 * j**2,
    )


def merge(first: Moments, second: Moments) -> Moments:
    """The moments of both sets of samples together, about the first's reference."""
    second = about(second, first.reference)
    return Moments(
        first.reference,
        first.count + second.count,
        first.d + second.d,
        first.dd + second.dd,
        first.ddd + second.ddd,
        first.dddd + second.dddd,
    )


@jax.jit
def mean_deviation(moments: Moments) -> tuple[Float[Array, "*batch P"], Float[Array, "*batch P"]]:
    """Mean minus reference, and its standard error."""
    variances = jnp.diagonal(covariance(moments)[0], axis1=-2, axis2=-1)
    return moments.d / moments.count, jnp.sqrt(variances / moments.count)


@jax.jit
def covariance(moments: Moments) -> tuple[Float[Array, "*batch P P"], Float[Array, "*batch P P"]]:
    r"""The unbiased covariance matrix and the standard errors of its entries, from at least two samples.

    With central moments $\mu_{pq} = E[(x_i - \bar x_i)^p(x_j - \bar x_j)^q]$ and $M$ samples, the variance of the
    unbiased covariance is exactly $[\mu_{22} - \mu_{11}^2 + (\mu_{20}\mu_{02} + \mu_{11}^2)/(M-1)]/M$.
    """
    M = moments.count
    central = about(moments, moments.reference + moments.d / M)
    mu11, mu22 = central.dd / M, central.dddd / M
    variances = jnp.diagonal(mu11, axis1=-2, axis2=-1)
    mu20_mu02 = variances[..., :, None] * variances[..., None, :]
    of_products = jnp.maximum(mu22 - mu11**2, 0)  # a variance: negative by rounding only
    return mu11 * (M / (M - 1)), jnp.sqrt((of_products + (mu20_mu02 + mu11**2) / (M - 1)) / M)
