r"""Residual networks: neurons that persist from layer to layer, by chain or with weights.

Given a layer, its successor $z'_i = u_i + \gamma z_i$ has independent Gaussian $u_i \sim N(0, \widehat G)$ with
$\widehat G_{\alpha\beta} = C_b + \frac{C_W}n\sum_j\sigma_{j;\alpha}\sigma_{j;\beta}$, PDLT (4.69)-(4.70), so that

$$E[z'_{i;\alpha}z'_{i;\beta}\,|\,z] = \widehat G_{\alpha\beta} + \gamma^2z_{i;\alpha}z_{i;\beta},$$

which differs from neuron to neuron. The connected four-point function of PDLT (B.23) is that of *different* neurons: the covariance of
these over networks for $i \ne j$. Neurons are replicas whose products measure it.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.random import fold_in
from jaxtyping import Bool, Float, Key

from .._arrays import Array
from ..activations import Activation
from ..gaussian.root import pivoted_root
from ..kernels.pairs import pair_index
from ..networks import ResidualLayer, ResidualMLP
from .forward_backward import MatrixKind, Stage, draw, through_layers
from .gaussian_matrix import DenseGaussian, LazyGaussian
from .normals import standard_normals
from .samplers import Sample, Sampler


def trunk(net: ResidualMLP) -> ResidualMLP:
    """The network without its last layer."""
    shorter = {name: getattr(net, name)[:-1] for name in ("C_b", "C_W", "lambda_b", "lambda_W")}
    return net.replace(depth=net.depth - 1, outputs=None, **shorter)


def seen_by(layer: ResidualLayer, signal: Float[Array, "N n"], z: Float[Array, "N n"]) -> Sample:
    """What the neurons of the next `layer` see of the neurons `z` that send the `signal`."""
    samples, width = z.shape
    pairs = pair_index(samples)
    gram = signal @ signal.T / width
    own = layer.skip**2 * (z[pairs.a] * z[pairs.b]).T
    metric = layer.kernel(gram, z @ z.T / width)
    return Sample(metric, neurons=pairs.pack(layer.kernel(gram)) + own)


class ResidualChainSampler(Sampler):
    """Neurons drawn layer by layer, without weights."""

    activation: Activation = eqx.field(static=True)
    width: int = eqx.field(static=True)
    first: Float[Array, "N N"]
    layers: ResidualLayer

    def __init__(self, net: ResidualMLP, x: Float[Array, "N n_0"]):
        self.activation = net.activation
        self.width = net.width
        self.first = net.first_kernel(x)
        self.layers = net.layers[1:]

    def __call__(self, key: Key[Array, ""]) -> Sample:
        """From the first-layer kernel."""

        def normals(number: int | Array) -> Array:
            return standard_normals(fold_in(key, number), (len(self.first), self.width), self.first.dtype)

        def step(z: Array, xs: tuple[Array, ResidualLayer]) -> tuple[Array, Sample]:
            number, layer = xs
            signal = layer.signal(self.activation, z)
            block = layer.kernel(signal @ signal.T / self.width)
            return pivoted_root(block) @ normals(number) + layer.skip * z, seen_by(layer, signal, z)

        numbers = 1 + jnp.arange(len(self.layers.skip))
        return lax.scan(step, pivoted_root(self.first) @ normals(0), (numbers, self.layers))[1]

    def numbers_per_network(self) -> int:
        """What every neuron of every layer sees."""
        samples = len(self.first)
        return self.width * (len(self.layers.skip) * samples * (samples + 1) // 2 + 4 * samples)


class ResidualNetworkSampler(Sampler):
    """A forward pass with real weights, stored or lazy."""

    trunk: ResidualMLP
    x: Float[Array, "N n_0"]
    following: ResidualLayer
    kind: MatrixKind = eqx.field(static=True)

    def __init__(self, net: ResidualMLP, x: Float[Array, "N n_0"], kind: MatrixKind):
        self.trunk, self.x, self.kind = trunk(net), x, kind
        self.following = net.layers[1:]

    def __call__(self, key: Key[Array, ""]) -> Sample:
        """From the inputs, PDLT (B.3)."""
        activation, network = self.trunk.activation, draw(self.trunk, key, self.kind)

        def layer(z: Array, xs: tuple[Stage, ResidualLayer, Bool[Array, ""]]) -> tuple[Array, Sample]:
            stage, following, is_first = xs
            z = next_preactivations(activation, stage, z, is_first)
            return z, seen_by(following, following.signal(activation, z), z)

        z, found, start = self.x, [], 0
        for stage in network.stages:
            count = len(stage.biases)
            here = slice(start, start + count)
            first = jnp.arange(start, start + count) == 0
            z, samples = through_layers(layer, z, (stage, self.following[here], first))
            found.append(samples)
            start += count
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), *found)

    def numbers_per_network(self) -> int:
        """What every neuron sees, a few vectors, and all weights if they are stored."""
        samples, width = len(self.x), self.trunk.width
        seen = width * len(self.following.skip) * samples * (samples + 1) // 2
        return seen + 8 * width * samples + (self.trunk.parameters if self.kind is DenseGaussian else 0)


def next_preactivations(
    activation: Activation, stage: Stage, z: Float[Array, "N m"], is_first: Bool[Array, ""] | bool
) -> Float[Array, "N n"]:
    r"""$b + W\sigma(z) + \gamma z$, PDLT (B.3), (B.6); the first layer has $x$ for $\sigma(z)$ and no way around it."""
    layer = stage.layers
    assert isinstance(layer, ResidualLayer)
    signal = jnp.where(is_first, z, layer.signal(activation, z))
    products, _ = stage.weights.times(signal)
    new = stage.biases + products
    return new if z.shape != new.shape else new + layer.skip * z


RESIDUAL_METHODS: dict[str, Callable[[ResidualMLP, Float[Array, "N n_0"]], Sampler]] = {
    "chain": ResidualChainSampler,
    "dense": lambda net, x: ResidualNetworkSampler(net, x, DenseGaussian),
    "lazy": lambda net, x: ResidualNetworkSampler(net, x, LazyGaussian),
}
