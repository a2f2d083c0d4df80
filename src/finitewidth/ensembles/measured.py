"""What an ensemble of networks has shown, in the groups and in the normalisation of the theory."""

import numpy as np
from jaxtyping import Float

from .._arrays import Array
from ..kernels.pairs import pair_index
from ..networks import LayeredNetwork
from ..results import Differential, Measurement, Metric, SecondDifferential, Tangent
from .means import mean_and_error
from .moments import covariance, mean_deviation
from .tails import effective_of_mean, effective_of_variance
from .tally import Tally


def measured_metric(
    net: LayeredNetwork, kernels: Float[Array, "L N N"], tally: Tally | None, networks: int
) -> Metric[Measurement]:
    """The statistics of layers 2..L, taken about their infinite-width `kernels`, with the first layer, in which nothing
    fluctuates, before them. `tally` is `None` for a network of one layer."""
    limit = np.asarray(kernels)
    layers, samples = limit.shape[:2]
    pairs = pair_index(samples)
    deviation = np.zeros((2, layers, len(pairs.a)))  # figures and their errors
    V = np.zeros((2, layers, len(pairs.a), len(pairs.a)))
    behind_mean, behind_variance = np.full((2, layers, len(pairs.a)), float(networks))
    if tally is not None:
        deviation[:, 1:] = mean_deviation(tally.moments)
        V[:, 1:] = covariance(tally.moments)
        behind_mean[1:] = effective_of_mean(tally.tails)
        behind_variance[1:] = effective_of_variance(tally.tails)
    return metric_of(net, limit, deviation, V, behind_mean, _behind_covariance(behind_variance, behind_variance))


def metric_of(
    net: LayeredNetwork,
    limit: Float[np.ndarray, "L N N"],
    deviation: Float[np.ndarray, "2 L P"],
    covariance: Float[np.ndarray, "2 L P P"],
    behind_mean: Float[np.ndarray, "L P"],
    behind_covariance: Float[np.ndarray, "L P P"],
) -> Metric[Measurement]:
    """The group made of the mean's `deviation` from its `limit` and of the `covariance`, both with their errors, and of the
    effective networks behind these."""
    pairs = pair_index(limit.shape[1])
    widths = _fluctuating_widths(net)
    mean, error = pairs.unpack(deviation)
    count = pairs.unpack(behind_mean)
    return Metric(
        G1=Measurement(*pairs.unpack(deviation * widths[:, None]), effective_networks=count),
        G=Measurement(limit + mean, error, count),
        V=Measurement(
            *pairs.unpack_twice(covariance * widths[:, None, None]),
            effective_networks=pairs.unpack_twice(behind_covariance),
        ),
    )


def measured_tangent(
    net: LayeredNetwork, limit: Float[Array, "L N N"], tally: Tally | None, networks: int
) -> Tangent[Measurement]:
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
    behind_H = np.full(H1.shape[1:], float(networks))
    behind_A, behind_B, behind_D, behind_F = (np.full(A.shape[1:], float(networks)) for _ in "ABDF")
    if tally is not None and counted is not None:
        size = len(pairs.a)
        joint = np.stack(covariance(counted.joint))
        H1[:, known:] = pairs.unpack(np.stack(mean_deviation(counted.joint))[..., size:])
        A[:, known:] = pairs.unpack_twice(joint[..., size:, size:])
        D[:, known:] = pairs.unpack_twice(joint[..., :size, size:])
        B[:, known:], F[:, known:] = mean_and_error(counted.B), mean_and_error(counted.F)
        metric, kernel = effective_of_variance(tally.tails)[-count:], effective_of_variance(counted.tails)
        behind_H[known:] = pairs.unpack(effective_of_mean(counted.tails))
        behind_A[known:] = pairs.unpack_twice(_behind_covariance(kernel, kernel))
        behind_D[known:] = pairs.unpack_twice(_behind_covariance(metric, kernel))
        behind_B[known:], behind_F[known:] = map(effective_of_mean, (counted.tails_of_B, counted.tails_of_F))

    def scaled(figures: np.ndarray, behind: np.ndarray) -> Measurement:
        return Measurement(*(figures * widths.reshape(-1, *[1] * (figures.ndim - 2))), effective_networks=behind)

    return Tangent(
        Theta=theta[layers],
        H1=scaled(H1, behind_H),
        H=Measurement(theta[layers] + H1[0], H1[1], behind_H),
        A=scaled(A, behind_A),
        B=Measurement(*B, effective_networks=behind_B),  # already in units of the width
        D=scaled(D, behind_D),
        F=Measurement(*F, effective_networks=behind_F),
        layers=tuple(int(layer) + 1 for layer in layers),
    )


def measured_differentials(
    net: LayeredNetwork, samples: int, tally: Tally | None, networks: int, to_second: bool
) -> tuple[Differential[Measurement], SecondDifferential[Measurement] | None]:
    """P and Q, and R, S, T and U, of the last layer; all zero in a network of one layer."""
    shape = (6 if to_second else 2, *[samples] * 4)
    figures, behind = np.zeros((2, *shape)), np.full(shape, float(networks))
    if tally is not None and tally.differentials is not None and tally.tails_of_differentials is not None:
        figures[:] = mean_and_error(tally.differentials)
        behind[:] = effective_of_mean(tally.tails_of_differentials)
    found = [
        Measurement(mean[None], error[None], count[None]) for mean, error, count in zip(*figures, behind, strict=True)
    ]
    layers = (net.depth,)
    second = SecondDifferential(*found[2:], layers=layers) if to_second else None
    return Differential(*found[:2], layers=layers), second


def _behind_covariance(one: Float[Array, "L P"], other: Float[Array, "L P"]) -> Float[np.ndarray, "L P P"]:
    """A covariance is known as well as the worse known of its two variances."""
    return np.minimum(np.asarray(one)[:, :, None], np.asarray(other)[:, None, :])


def _fluctuating_widths(net: LayeredNetwork) -> Float[np.ndarray, " L"]:
    """The widths before every layer; one before the first, which does not fluctuate."""
    return np.asarray([1.0, *net.hidden_widths])
