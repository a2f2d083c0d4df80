"""What an ensemble of networks has shown, in the groups and in the normalisation of the theory."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from ..kernels.pairs import pair_index
from ..networks import MLP
from ..results import Measurement, Metric, Tangent
from .means import mean_and_error
from .moments import covariance, mean_deviation
from .tally import Tally


def measured_metric(net: MLP, kernels: Float[Array, "L N N"], tally: Tally | None) -> Metric[Measurement]:
    """The statistics of layers 2..L, taken about their infinite-width `kernels`, with the first layer, in which nothing
    fluctuates, before them. `tally` is `None` for a network of one layer."""
    limit = np.asarray(kernels)
    layers, samples = limit.shape[:2]
    pairs = pair_index(samples)
    deviation = np.zeros((2, layers, len(pairs.a)))  # figures and their errors
    V = np.zeros((2, layers, len(pairs.a), len(pairs.a)))
    if tally is not None:
        deviation[:, 1:] = mean_deviation(tally.moments)
        V[:, 1:] = covariance(tally.moments)
    widths = _fluctuating_widths(net)
    mean, error = pairs.unpack(deviation)
    return Metric(
        G1=Measurement(*pairs.unpack(deviation * widths[:, None])),
        G=Measurement(limit + mean, error),
        V=Measurement(*pairs.unpack_twice(V * widths[:, None, None])),
    )


def measured_tangent(net: MLP, limit: Float[Array, "L N N"], tally: Tally | None) -> Tangent[Measurement]:
    """The statistics of the layers that `tally` counts (the last ones), about their infinite-width `limit`.

    If these are all layers that fluctuate, the first one, which does not, stands before them; it stands alone where
    `tally` is `None`.
    """
    theta = np.asarray(limit)
    samples = theta.shape[1]
    pairs = pair_index(samples)
    counted = None if tally is None else tally.tangent
    count = 0 if counted is None else len(counted.joint.d)
    first = net.depth - count if count < net.depth - 1 else 0
    layers = np.arange(first, net.depth)
    known = len(layers) - count  # one if the first layer is among them
    widths = _fluctuating_widths(net)[layers]
    H1 = np.zeros((2, len(layers), samples, samples))
    A, B, D, F = (np.zeros((2, len(layers), *[samples] * 4)) for _ in "ABDF")
    if counted is not None:
        size = len(pairs.a)
        joint = jnp.stack(covariance(counted.joint))
        H1[:, known:] = pairs.unpack(jnp.stack(mean_deviation(counted.joint))[..., size:])
        A[:, known:] = pairs.unpack_twice(joint[..., size:, size:])
        D[:, known:] = pairs.unpack_twice(joint[..., :size, size:])
        B[:, known:], F[:, known:] = mean_and_error(counted.B), mean_and_error(counted.F)

    def scaled(figures: np.ndarray) -> Measurement:
        return Measurement(*(figures * widths.reshape(-1, *[1] * (figures.ndim - 2))))

    return Tangent(
        Theta=theta[layers],
        H1=scaled(H1),
        H=Measurement(theta[layers] + H1[0], H1[1]),
        A=scaled(A),
        B=Measurement(*B),  # already in units of the width
        D=scaled(D),
        F=Measurement(*F),
        layers=tuple(int(layer) + 1 for layer in layers),
    )


def _fluctuating_widths(net: MLP) -> Float[np.ndarray, " L"]:
    """The widths before every layer; one before the first, which does not fluctuate."""
    return np.asarray([1.0, *net.hidden_widths])
