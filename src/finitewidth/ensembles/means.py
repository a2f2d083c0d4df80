"""Means of random arrays with standard errors, where nobody asks for a covariance."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Bool, Float

from .._arrays import Array
from .._compile import compiled_in_haste


class Means(eqx.Module):
    """The number of samples, their sum, and the sum of their squares."""

    count: Float[Array, ""]
    sums: Float[Array, "*shape"]
    squares: Float[Array, "*shape"]


def no_samples(shape: tuple[int, ...]) -> Means:
    """Nothing yet."""
    return Means(jnp.zeros(()), jnp.zeros(shape), jnp.zeros(shape))


def add_samples(means: Means, samples: Float[Array, "B *shape"], counted: Bool[Array, " B"]) -> Means:
    """The means with those `samples` that are `counted`."""
    samples = jnp.where(counted.reshape(-1, *[1] * (samples.ndim - 1)), samples, 0)
    return Means(
        means.count + jnp.sum(counted),
        means.sums + jnp.sum(samples, axis=0),
        means.squares + jnp.sum(samples**2, axis=0),
    )


@compiled_in_haste()
def mean_and_error(means: Means) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """The mean and its standard error, from at least two samples."""
    mean = means.sums / means.count
    variance = jnp.maximum(means.squares / means.count - mean**2, 0)  # negative by rounding only
    return mean, jnp.sqrt(variance / (means.count - 1))
