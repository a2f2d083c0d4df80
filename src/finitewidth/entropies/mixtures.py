r"""Entropies without an expansion: given its metric $\widehat G$ a layer is Gaussian, so that over networks it is a mixture of Gaussians.

The law of $\widehat G$ is known by samples. Entropies are taken relative to one Gaussian $q$, of a covariance $G_0$ above all of them,
$\mathcal S[p] = E_p[-\log q] - E_q[\varrho\log\varrho - \varrho + 1]$ with $\varrho = p/q$: all terms of the integral are positive, so that
differences as small as $10^{-10}$ nats keep their digits. The integral is one over the radius for neurons, and one over the plane for
two samples. Leaving out a twentieth of the samples at a time (the jackknife) removes the bias of a finite number of them and gives the
standard error.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy
from jaxtyping import Float

from .._errors import DomainError

GROUPS = 20  # of networks, left out one after the other
ON_THE_PLANE = 2000  # networks of which two samples are looked at together
_STEP = 0.1  # in the logarithm of the radius, for one neuron: the trapezoid rule is exact to rounding
_LOWEST, _HIGHEST = 1e-12, 1e-14  # probabilities beyond which nothing is integrated
_REACH, _PLANE_STEP, _MOST_NODES = 7.0, 0.45, 161  # deviations; along each axis of the plane
_COINCIDENT, _NORMALISED = 1e-12, 1e-5


class Estimate(NamedTuple):
    """A number with its standard error."""

    value: float
    error: float


WEIGHTS = np.concatenate([np.ones((1, GROUPS)) / GROUPS, (1 - np.eye(GROUPS)) / (GROUPS - 1)])
"""Of the groups: all of them, and all but one."""


def jackknife(statistic: Callable[[np.ndarray], np.ndarray]) -> Estimate:
    """Of a function that maps weights of the groups, (sets, groups), to one number for each set."""
    whole, *without = statistic(WEIGHTS)
    left_out = np.asarray(without)
    value = GROUPS * whole - (GROUPS - 1) * left_out.mean()
    return Estimate(float(value), float(math.sqrt((GROUPS - 1) * np.mean((left_out - left_out.mean()) ** 2))))


def in_groups(samples: Float[np.ndarray, "networks *shape"]) -> Float[np.ndarray, "groups each *shape"]:
    """The samples in groups of one size; a few that are left over are not used."""
    each = len(samples) // GROUPS
    return samples[: GROUPS * each].reshape(GROUPS, each, *samples.shape[1:])


def refuse_silent(metrics: Float[np.ndarray, "networks L N N"]) -> None:
    """`DomainError` for networks with a metric of zero."""
    dead = int((np.diagonal(metrics, axis1=2, axis2=3) <= 0).any(axis=(1, 2)).sum())
    if dead:
        got = f"{dead} of {len(metrics)} networks whose neurons are all silent in some layer, so that entropies are minus infinity"
        raise DomainError("net", got, "wider layers, or C_b > 0")


def entropies_of_neurons(
    metrics: Float[np.ndarray, "groups each"], neurons: int, weights: Float[np.ndarray, "sets groups"]
) -> Float[np.ndarray, " sets"]:
    r"""$\mathcal S_m$ of $m$ neurons of one input, PDLT (A.1), for each set of weights of the groups."""
    m, G_0 = neurons, float(metrics.max())
    low, high = metrics.min() * scipy.stats.chi2.ppf(_LOWEST, m), G_0 * scipy.stats.chi2.isf(_HIGHEST, m)
    steps = math.ceil(math.log(high / low) / 2 / _STEP * max(1.0, math.sqrt(m / 4)))
    s = np.linspace(math.log(low) / 2, math.log(high) / 2, steps + 1)
    square = np.exp(2 * s)
    # the density of the logarithm of the radius under the Gaussian of variance G_0
    gaussian = 2 * np.exp(scipy.stats.chi2.logpdf(square / G_0, m) + np.log(square / G_0))
    ratio = np.stack([_ratio(group, G_0, m, square) for group in metrics])
    divergence = (s[1] - s[0]) * excess(weights @ ratio) @ gaussian
    mean = weights @ metrics.mean(axis=1)
    return m / 2 * (math.log(2 * math.pi * G_0) + mean / G_0) - divergence


def _ratio(group: np.ndarray, G_0: float, m: int, square: np.ndarray) -> np.ndarray:
    """The density of a group's mixture over that of the Gaussian, by the square of the radius."""
    rate = (1 / group - 1 / G_0) / 2
    return np.exp(m / 2 * np.log(G_0 / group)[:, None] - rate[:, None] * square).mean(axis=0)


def excess(ratio: np.ndarray) -> np.ndarray:
    r"""$\varrho\log\varrho - \varrho + 1$."""
    return np.where(ratio > 0, ratio * np.log(np.where(ratio > 0, ratio, 1.0)), 0.0) - ratio + 1


def entropies_of_two_samples(
    metrics: Float[np.ndarray, "groups each 2 2"], weights: Float[np.ndarray, "sets groups"]
) -> Float[np.ndarray, " sets"]:
    """Of one neuron on two inputs together, for each set of weights of the groups."""
    mean = metrics.mean(axis=(0, 1))
    correlation = mean[0, 1] ** 2 / (mean[0, 0] * mean[1, 1])
    if correlation > 1 - _COINCIDENT:
        raise DomainError("x", "two samples that coincide, or are opposite", "samples that differ")
    inverse = np.linalg.inv(np.linalg.cholesky(mean))
    largest = np.linalg.eigvalsh(inverse @ metrics @ inverse.T).max()
    G_0, whitened = largest * mean, inverse @ metrics @ inverse.T / largest
    smallest = max(np.linalg.eigvalsh(whitened).min(), 0.0)
    step = max(_PLANE_STEP * math.sqrt(smallest), 2 * _REACH / (_MOST_NODES - 1))
    axis = step * np.arange(-math.ceil(_REACH / step), math.ceil(_REACH / step) + 1)
    u, v = (part.ravel() for part in np.meshgrid(axis, axis[axis >= 0], indexing="ij"))  # p(z) = p(-z): half the plane
    cell = np.where(v > 0, 2.0, 1.0) * step**2 / (2 * math.pi)
    gaussian = cell * np.exp(-(u**2 + v**2) / 2)
    ratio = np.stack([_plane_ratio(group, u, v) for group in whitened])
    mixed = weights @ ratio
    if np.abs(mixed @ gaussian - 1).max() > _NORMALISED:
        got = "networks that differ too much for an integral over the plane"
        raise DomainError("net", got, "a smaller depth over width, or one input")
    trace = np.trace(np.tensordot(weights, whitened.mean(axis=1), axes=(1, 0)), axis1=1, axis2=2)
    return (2 * math.log(2 * math.pi) + np.linalg.slogdet(G_0)[1] + trace) / 2 - excess(mixed) @ gaussian


def _plane_ratio(group: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    precision = np.linalg.inv(group) - np.eye(2)
    of_nodes = np.stack([u**2, 2 * u * v, v**2])
    exponent = precision[:, [0, 0, 1], [0, 1, 1]] @ of_nodes + np.linalg.slogdet(group)[1][:, None]
    return np.exp(-exponent / 2).mean(axis=0)
