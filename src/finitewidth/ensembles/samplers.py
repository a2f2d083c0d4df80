"""The ways to draw one network: pytrees that map a random key to what is measured of it, the metrics of layers 2..L first."""

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import numpy as np
from jaxtyping import Float, Int, Key

from .._arrays import Array
from ..activations import Activation
from ..networks import MLP, Layer
from .chain import metric_chain
from .forward_backward import MatrixKind, draw, forward
from .gaussian_matrix import DenseGaussian, LazyGaussian
from .neurons import rows_per_block


class TangentSample(eqx.Module):
    r"""What one network shows of its tangent kernel in the layers measured, the last layer's weights averaged over.

    `B` and `F` are its share in the means PDLT (8.83) and PDLT (8.69), axes as printed there: 1, 3, 2, 4.
    """

    kernels: Float[Array, "*measured R N N"]
    r"""Replicas of $E[\widehat H_{ii;\alpha\beta}]$ given the layers before, PDLT (8.90): noisy ones, or a single exact one."""
    B: Float[Array, "*measured N N N N"]
    F: Float[Array, "*measured N N N N"]


class Sample(eqx.Module):
    """What one network shows."""

    metrics: Float[Array, "*later N N"]
    """Averages over neurons, where what these see differs."""
    neurons: Float[Array, "*later n P"] | None = None
    """Where it does, what each of them sees, on pairs of samples."""
    tangent: TangentSample | None = None
    differentials: Float[Array, "*kinds N N N N"] | None = None
    """P and Q of the last layer, then R, S, T and U if they are measured."""


class Sampler(eqx.Module):
    """A law of networks."""

    @abstractmethod
    def __call__(self, key: Key[Array, ""]) -> Sample:
        """One network."""

    @abstractmethod
    def numbers_per_network(self) -> int:
        """How many numbers one network keeps in memory at a time, roughly."""


class ChainSampler(Sampler):
    """The kernel Markov chain. Widths are values here, not shapes: networks that differ in them share compiled code."""

    activation: Activation = eqx.field(static=True)
    block: int = eqx.field(static=True)
    first: Float[Array, "N N"]
    hidden_widths: Int[Array, " later"]
    layers: Layer

    def __init__(self, net: MLP, x: Float[Array, "N n_0"]):
        self.activation = net.activation
        self.block = rows_per_block(net.hidden_widths)
        self.first = net.first_kernel(x)
        self.hidden_widths = np.asarray(net.hidden_widths, dtype=int)  # integers, even where there are none
        self.layers = net.layers[1:]

    def __call__(self, key: Key[Array, ""]) -> Sample:
        """The chain from the first-layer kernel."""
        chain = metric_chain(key, self.first, self.activation, self.hidden_widths, self.layers, self.block)
        return Sample(chain)

    def numbers_per_network(self) -> int:
        """One block of neurons."""
        return self.block * len(self.first)


class NetworkSampler(Sampler):
    """A forward pass of a network with real weights, stored or lazy."""

    net: MLP
    x: Float[Array, "N n_0"]
    kind: MatrixKind = eqx.field(static=True)

    def __init__(self, net: MLP, x: Float[Array, "N n_0"], kind: MatrixKind):
        self.net = net.replace(widths=(*net.widths[:-1], 1))  # no metric depends on how many outputs read it
        self.x = x
        self.kind = kind

    def __call__(self, key: Key[Array, ""]) -> Sample:
        """The forward pass from the inputs."""
        passed, _ = forward(draw(self.net, key, self.kind), self.x)
        return Sample(passed.metrics[1:])

    def numbers_per_network(self) -> int:
        """A few vectors per sample, as wide as the widest layer; all weights if they are stored."""
        vectors = 8 * max(self.net.widths) * len(self.x)
        return vectors + (self.net.parameters if self.kind is DenseGaussian else 0)


METHODS: dict[str, Callable[[MLP, Float[Array, "N n_0"]], Sampler]] = {
    "chain": ChainSampler,
    "dense": lambda net, x: NetworkSampler(net, x, DenseGaussian),
    "lazy": lambda net, x: NetworkSampler(net, x, LazyGaussian),
}
