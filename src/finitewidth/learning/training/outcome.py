"""What trained networks leave behind."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ..._arrays import Array
from ...results import Measurement


class Outcome(NamedTuple):
    """Of one network, or of many along a first axis."""

    outputs: Float[Array, "*networks times N_test n_L"]
    losses: Float[Array, "*networks steps+1"]
    """Of all training samples, before each step and at the end."""
    worst_overlap: Float[Array, "*networks"]
    """Of two directions asked of lazy weights; zero where weights are stored."""
    directions: Int[Array, "*networks"]
    """Held by lazy weights, from both sides, in the layer that holds most."""
    first_outputs: Float[Array, "*networks D n_L"]
    """Before training, on training inputs and then test inputs; of no inputs unless control variates are wanted."""
    first_kernel: Float[Array, "*networks n_L n_L D D"]
    """The tangent kernel before training, on the same inputs, at [output, output, sample, sample]."""


def measured_mean(samples: Float[np.ndarray, "networks *shape"]) -> Measurement:
    """The mean over networks and its standard error."""
    error = np.std(samples, axis=0, ddof=1) / np.sqrt(len(samples))
    return Measurement(np.mean(samples, axis=0), np.asarray(error))


def measured_covariance(outputs: Float[np.ndarray, "networks times N n"]) -> Measurement:
    r"""$\mathrm{Cov}[z_{i;\beta_1}, z_{j;\beta_2}]$ at [time, beta_1, beta_2, i, j], unbiased, with its standard error: that of the mean of
    the networks' products of deviations."""
    networks = len(outputs)
    deviations = outputs - np.mean(outputs, axis=0)
    products = "mtbi,mtcj->tbcij"
    mean = np.einsum(products, deviations, deviations, optimize=True) / networks
    squares = np.einsum(products, deviations**2, deviations**2, optimize=True) / networks
    unbiased = networks / (networks - 1)
    spread = np.sqrt(np.maximum(squares - mean**2, 0.0) / (networks - 1))
    return Measurement(unbiased * mean, unbiased * spread)
