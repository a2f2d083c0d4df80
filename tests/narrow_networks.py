"""Narrow linear networks, their random kernels, and means in units of their own errors."""

import math

import jax.numpy as jnp
import numpy as np

from finitewidth.networks import MLP

X = np.array([[1.0, -0.4, 0.3], [0.2, 0.9, -0.7], [-0.5, 0.6, 0.8], [1.1, 0.1, 0.2]])
BIASED = MLP("linear", (3, 5, 3, 7, 4), C_b=[0.2, 0.1, 0.3, 0.05], C_W=[1.0, 0.9, 1.2, 1.1])
UNBIASED = MLP("linear", (3, 5, 3, 7, 4), C_W=[1.3, 0.9, 1.2, 0.8])


def within_standard_errors(draws: np.ndarray, expected: np.ndarray, limit: float = 4.0) -> bool:
    """Whether the mean over the first axis is the expected one, in units of its own standard error."""
    error = draws.std(axis=0) / math.sqrt(len(draws))
    return bool((np.abs(draws.mean(axis=0) - expected) <= limit * error).all())


def sites(neurons, samples) -> list[tuple[int, int]]:
    return list(zip(neurons, samples, strict=True))


def kernel_chain(rng: np.random.Generator, net: MLP, start: np.ndarray, networks: int) -> list[np.ndarray]:
    """Random kernels of every layer from their Markov chain, which needs no weights."""
    kernels = [np.broadcast_to(start, (networks, *start.shape))]
    for n, b, w in zip(net.hidden_widths, net.C_b[1:], net.C_W[1:], strict=True):
        root = np.linalg.cholesky(kernels[-1] + 1e-13 * np.eye(len(start)))
        z = np.asarray(net.activation(jnp.asarray(rng.normal(size=(networks, n, len(start))) @ root.swapaxes(1, 2))))
        kernels.append(float(b) + float(w) * z.swapaxes(1, 2) @ z / n)
    return kernels
