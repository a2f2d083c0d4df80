"""The single-input averages of an activation from its samples along the line, for any number of kernels, in NumPy."""

import math

import numpy as np
from jaxtyping import Bool, Float

from ..._arrays import Array
from ...activations import Activation
from ...activations.sampling import size
from ...gaussian.derivatives import sampled
from .averages import SingleInput, from_means, with_kinks
from .kinks import limits
from .line_samples import REACH, line_samples

LOWEST_SHARED = 1e-8  # kernels below are too narrow for nodes that serve all: they get nodes of their own
_AT_ONCE = 2**18  # numbers in memory: fewer kernels at once leave out more nodes that none of them reaches
_DOUBTFUL = 1e-9  # share of an average that may come from where the activation is not resolved
NEGLIGIBLE = 1e-100  # an average, in units of the activation, that is as good as zero whatever its digits
_TAIL = 0.9 * REACH  # deviations beyond which next to nothing may be left


def sampled_averages(activation: Activation, K: Float[np.ndarray, " k"]) -> SingleInput:
    """All single-input averages at each variance in `K`."""
    with np.errstate(all="ignore"):  # far from order one some overflow that nobody asks for
        parts = [_averages(activation, K[at]) for at in _batches(activation, K)]
    return SingleInput(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _batches(activation: Activation, K: np.ndarray) -> list[slice]:
    """Neighbours whose nodes fit into memory together."""
    length = max(1, _AT_ONCE // len(line_samples(activation).z))
    return [slice(start, start + length) for start in range(0, max(len(K), 1), length)]


def _averages(activation: Activation, K: np.ndarray) -> SingleInput:
    small = K < LOWEST_SHARED
    both = [_by_own_nodes(activation, K[small]), _by_shared_nodes(activation, K[~small])]
    at = SingleInput(*(np.empty(len(K)) for _ in SingleInput._fields))
    for part, own, shared in zip(at, *both, strict=True):
        part[small], part[~small] = own, shared
    if not activation.kinks:
        return at
    (right, left), (slope, slope_left) = (of.T for of in limits(activation, activation.kinks)[0][:2])
    finite = np.isfinite(slope) & np.isfinite(
        slope_left
    )  # an infinite slope is not a jump, and sigma sigma' is even there
    slope, slope_left = np.where(finite, slope, 0.0), np.where(finite, slope_left, 0.0)
    return with_kinks(at, K[:, None], np.asarray(activation.kinks), right, left, slope, slope_left)


def _by_shared_nodes(activation: Activation, K: np.ndarray) -> SingleInput:
    if len(K) == 0:
        return SingleInput(*(np.empty(0) for _ in SingleInput._fields))
    nodes = line_samples(activation).within(K)
    weights = nodes.weights * _density(nodes.z, K)
    centre = nodes.values[0, 0] ** 2  # that of zero, around which the activation varies little if the kernel is small

    def variance(g: Array) -> Array:
        return weights @ (nodes.values[0] ** 2 - centre) ** 2 - (g - centre) ** 2

    return from_means(lambda terms: weights @ terms, variance, K, nodes.z, *nodes.values)


def _density(z: np.ndarray, K: np.ndarray) -> Float[np.ndarray, "k nodes"]:
    return np.exp(-(z**2) / (2 * K[:, None])) / np.sqrt(2 * math.pi * K[:, None])


def _by_own_nodes(activation: Activation, K: np.ndarray) -> SingleInput:
    """Panels in units of the deviation: only a kink at zero can be seen by so narrow a Gaussian."""
    ends = np.linspace(-13.0, 13.0, 27)
    x, w = np.polynomial.legendre.leggauss(16)
    u = (ends[:-1, None] + (x + 1) / 2).ravel()
    weights = np.tile(w / 2, 26) * np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)
    z = np.sqrt(K)[:, None] * u
    values = sampled(activation.value, z.ravel())[:3].reshape(3, *z.shape)
    return from_means(
        lambda terms: terms @ weights, lambda g: (values[0] ** 2 - g[:, None]) ** 2 @ weights, K, z, *values
    )


def believable(activation: Activation, K: Float[np.ndarray, " k"]) -> Bool[np.ndarray, " k"]:
    """Where the samples tell the averages: next to nothing comes from where the activation is not resolved, and from the
    ends of the line."""
    return np.concatenate([_believable(activation, K[at]) for at in _batches(activation, K)])


def _believable(activation: Activation, K: np.ndarray) -> np.ndarray:
    shared = np.maximum(K, LOWEST_SHARED)
    nodes = line_samples(activation).within(shared)
    density = _density(nodes.z, shared)
    outer = slice(int(np.searchsorted(np.abs(nodes.z), _TAIL * math.sqrt(shared.min()))), None)
    ends = density[:, outer] * (np.abs(nodes.z[outer]) > _TAIL * np.sqrt(shared)[:, None])
    negligible = NEGLIGIBLE * size(activation.value) ** 2
    with np.errstate(over="ignore", invalid="ignore"):
        good = REACH * np.sqrt(K) < nodes.end
        for squares in nodes.values[:2] ** 2:
            total = density @ (nodes.weights * squares)
            lost = density @ (nodes.doubt * squares) + ends @ (nodes.weights * squares)[outer]
            good &= np.isfinite(total) & ((lost <= _DOUBTFUL * total) | (total <= negligible))
        return good
