r"""Mean and covariance of a random vector with standard errors of both, from samples that pass by once.

Sums of powers are kept about a fixed reference near the mean, so that nothing cancels; sums from different samples
add up, in any order and from different references.

A sample may come as several replicas, $x_a = m + \varepsilon_a$ with a common $m$ and independent noises of mean zero that nobody
asked for: products of different replicas then measure the covariance of $m$ alone, without bias.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from .._arrays import Array, at_hand, diagonal


class Moments(eqx.Module):
    r"""Sums over samples of $d_i^p d_j^q$ with $p, q \le 2$, where $d = x - \text{reference}$.

    With replicas $d$ is their average, and $d_id_j$ the average over products of different ones.
    """

    reference: Float[Array, "*batch P"]
    count: Float[Array, ""]
    d: Float[Array, "*batch P"]
    dd: Float[Array, "*batch P P"]
    ddd: Float[Array, "*batch P P"]
    """Sums of $(d_i d_j) d_i$."""
    dddd: Float[Array, "*batch P P"]
    """Sums of $(d_i d_j)^2$."""
    averages: Float[Array, "*batch P P"]
    """Sums of products of averages over replicas; without replicas the same as `dd`."""


def empty(reference: Float[Array, "*batch P"]) -> Moments:
    """No samples yet; `reference` should be near the mean to come."""
    shape, dtype = reference.shape, reference.dtype
    pairs = np.zeros((*shape, shape[-1]), dtype)
    return Moments(reference, np.zeros((), dtype), np.zeros(shape, dtype), *[pairs] * 4)


def add(moments: Moments, samples: Float[Array, "B *batch P"], counted: Bool[Array, " B"]) -> Moments:
    """The moments with those `samples` that are `counted`."""
    d = _counted(samples - moments.reference, counted)

    def summed(left: Array, right: Array) -> Array:
        return jnp.einsum("s...i,s...j->...ij", left, right)

    products = summed(d, d)
    sums = jnp.sum(d, axis=0), products, summed(d**2, d), summed(d**2, d**2), products
    return _grown(moments, counted, sums)


def add_replicas(moments: Moments, samples: Float[Array, "B *batch R P"], counted: Bool[Array, " B"]) -> Moments:
    """The moments with those `samples`, of R replicas each, that are `counted`."""
    replicas = samples.shape[-2]
    if replicas == 1:
        return add(moments, samples[..., 0, :], counted)
    d = _counted(samples - moments.reference[..., None, :], counted)
    mean = jnp.mean(d, axis=-2)
    averages = mean[..., :, None] * mean[..., None, :]
    same = jnp.einsum("...ri,...rj->...ij", d, d) / replicas
    products = (replicas * averages - same) / (replicas - 1)
    sums = mean, products, products * mean[..., :, None], products**2, averages
    return _grown(moments, counted, tuple(jnp.sum(each, axis=0) for each in sums))


def _counted(d: Array, counted: Bool[Array, " B"]) -> Array:
    return jnp.where(counted.reshape(-1, *[1] * (d.ndim - 1)), d, 0)


def _grown(moments: Moments, counted: Bool[Array, " B"], sums: tuple[Array, ...]) -> Moments:
    held = moments.d, moments.dd, moments.ddd, moments.dddd, moments.averages
    total = (old + new for old, new in zip(held, sums, strict=True))
    return Moments(moments.reference, moments.count + jnp.sum(counted), *total)


def about(moments: Moments, reference: Float[Array, "*batch P"]) -> Moments:
    """The same samples' sums about another reference, by the binomial theorem."""
    shift = moments.reference - reference
    i, j = shift[..., :, None], shift[..., None, :]
    n, di, dj = moments.count, moments.d[..., :, None], moments.d[..., None, :]
    means = moments.averages
    squares = diagonal(means)
    dii, djj = squares[..., :, None], squares[..., None, :]
    dij, diij, dijj = moments.dd, moments.ddd, moments.ddd.swapaxes(-1, -2)
    lower = j * di + i * dj + n * i * j
    return Moments(
        reference,
        n,
        moments.d + n * shift,
        dij + lower,
        diij + j * dii + i * (dij + means + 2 * j * di) + i**2 * (dj + n * j),
        moments.dddd
        + 2 * (j * diij + i * dijj)
        + (j**2 * dii + 2 * i * j * (dij + means) + i**2 * djj)
        + 2 * i * j * (j * di + i * dj)
        + n * i**2 * j**2,
        means + lower,
    )


def merge(first: Moments, second: Moments) -> Moments:
    """The moments of both sets of samples together, about the first's reference."""
    second = about(second, first.reference)
    sums = jax.tree.map(jnp.add, first, second)
    return eqx.tree_at(lambda moments: moments.reference, sums, first.reference)


def mean_deviation(moments: Moments) -> tuple[Float[Array, "*batch P"], Float[Array, "*batch P"]]:
    """Mean minus reference, and its standard error."""
    moments = at_hand(moments)
    M = moments.count
    central = about(moments, moments.reference + moments.d / M)
    squares = diagonal(central.averages).clip(0)  # negative by rounding only
    return moments.d / M, (squares / (M - 1) / M) ** 0.5


def covariance(moments: Moments) -> tuple[Float[Array, "*batch P P"], Float[Array, "*batch P P"]]:
    r"""The unbiased covariance matrix and the standard errors of its entries, from at least two samples.

    With central moments $\mu_{pq} = E[(x_i - \bar x_i)^p(x_j - \bar x_j)^q]$ and $M$ samples, the variance of the
    unbiased covariance is exactly $[\mu_{22} - \mu_{11}^2 + (\mu_{20}\mu_{02} + \mu_{11}^2)/(M-1)]/M$. With replicas the moments
    beside $M-1$ are those of their averages.
    """
    moments = at_hand(moments)
    M = moments.count
    central = about(moments, moments.reference + moments.d / M)
    mu11, mu22, averages = central.dd / M, central.dddd / M, central.averages / M
    variances = diagonal(averages)
    mu20_mu02 = variances[..., :, None] * variances[..., None, :]
    of_products = (mu22 - mu11**2).clip(0)  # a variance: negative by rounding only
    return mu11 + averages / (M - 1), ((of_products + (mu20_mu02 + averages**2) / (M - 1)) / M) ** 0.5
