r"""Tangent kernels of one network, with the weights of the layer measured averaged over.

Given everything up to layer $\ell$, with $M_{jk;\alpha\beta} = \sigma'_{j;\alpha}\widehat H^{(\ell)}_{jk;\alpha\beta}\sigma'_{k;\beta}$
and $n = n_\ell$, layer $\ell+1$ has exactly, at any width,

$$E[\widehat H_{ii;12}] = \lambda_b + \frac{\lambda_W}n\sum_j\sigma_{j;1}\sigma_{j;2} + \frac{C_W}n\sum_jM_{jj;12},\qquad
  F_{1324} = \frac{C_W^2}n\sum_{jk}E[\sigma_{j;1}M_{jk;34}\,\sigma_{k;2}]\ \text{PDLT (8.69)},$$

$$B_{1324} = \frac{C_W^2}n\sum_{jk}E[M_{jk;12}M_{jk;34}]\ \text{PDLT (8.83)},$$

while $V$, $D$ and $A$ are $n$ times the covariances of metric and mean kernel, PDLT (4.76), PDLT (8.68), PDLT (8.90).
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Key

from .._arrays import Array
from ..gaussian.root import pivoted_root
from ..kernels.pairs import pair_index
from ..networks import MLP, Layer, LayeredNetwork
from ..realised.tangent_kernel import dressed, next_ntk
from .forward_backward import Backward, Forward, RandomNetwork, Stage, draw, forward, pull_back, through_layers
from .gaussian_matrix import DenseGaussian, LazyGaussian
from .normals import standard_normals
from .samplers import Sample, Sampler, TangentSample

# Output neurons that a lazy network samples. Products of two different ones, six of them, measure A and B.
_READOUTS = 4


def trunk_and_inputs(net: MLP, x: Float[Array, "N n_0"]) -> tuple[MLP, Float[Array, "N n"]]:
    """The network without its last layer, and inputs with no more features than samples.

    All laws depend on inputs through their products only, so a root of these serves as well as the inputs.
    """
    samples, features = x.shape
    if features > samples:
        x = jnp.sqrt(samples) * pivoted_root(x @ x.T / features)
    shorter = {name: getattr(net, name)[:-1] for name in ("C_b", "C_W", "lambda_b", "lambda_W")}
    return net.replace(widths=(x.shape[1], *net.hidden_widths), **shorter), x


class DenseTangentSampler(Sampler):
    """The forward equation with stored weights: every layer is measured, without noise, at a cost of n^3."""

    trunk: MLP
    x: Float[Array, "N n"]
    following: Layer

    def __init__(self, net: MLP, x: Float[Array, "N n_0"]):
        self.trunk, self.x = trunk_and_inputs(net, x)
        self.following = net.layers[1:]

    def __call__(self, key: Key[Array, ""]) -> Sample:
        """All hidden layers, PDLT (8.12)."""
        network = draw(self.trunk, key, DenseGaussian)
        passed, _ = forward(network, self.x)
        pairs = pair_index(len(self.x))
        slope = self.trunk.activation.derivative(1)

        def layer(M: Array, xs: tuple[Stage, Array, Array, Layer]) -> tuple[Array, Sample]:
            stage, z, gram, following = xs
            assert isinstance(stage.weights, DenseGaussian)
            H = next_ntk(M, stage.weights.entries, pairs.pack(gram), stage.layers)
            M = dressed(H, slope(z[pairs.a]), slope(z[pairs.b]))
            return M, _exactly(self.trunk.activation(z), _both_orders(M, len(z)), following)

        # Before the first layer there is nothing to learn: no kernel.
        M = jnp.zeros((len(pairs.a), self.x.shape[1], self.x.shape[1]), self.x.dtype)
        found, start = [], 0
        for stage, z in zip(network.stages, passed.preactivations, strict=True):
            here = slice(start, start + len(z))
            start = here.stop
            of_stage = jax.tree.map(lambda each, here=here: each[here], (passed.grams, self.following))
            M, samples = through_layers(layer, M, (stage, z, *of_stage))
            found.append(samples)
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), *found)

    def numbers_per_network(self) -> int:
        """Weights, and a few matrices for every ordered pair of samples."""
        return self.trunk.parameters + 4 * len(self.x) ** 2 * max(self.trunk.widths) ** 2


class LazyTangentSampler(Sampler):
    """Backward passes through lazy weights: only the last layer is measured, at any width.

    Its mean kernel is seen through a few sampled output neurons: their noise is independent given the layers before, and drops
    out of the products of different ones. `F` needs no sampling: signals serve as rows of weights.
    """

    trunk: MLP
    x: Float[Array, "N n"]
    following: Layer

    def __init__(self, net: MLP, x: Float[Array, "N n_0"]):
        self.trunk, self.x = trunk_and_inputs(net, x)
        self.following = net.layers[-1]

    def __call__(self, key: Key[Array, ""]) -> Sample:
        """Forward through the hidden layers, back from sampled neurons and from signals."""
        layer_key, readout_key = jax.random.split(key)
        passed, network = forward(draw(self.trunk, layer_key, LazyGaussian), self.x)
        signal = self.trunk.activation(passed.preactivations[-1][-1])
        width, last = signal.shape[1], self.following
        gram = signal @ signal.T / width
        sampled = jnp.sqrt(last.C_W / width) * standard_normals(readout_key, (_READOUTS, width), signal.dtype)
        through = kernel_through_rows(network, passed, jnp.concatenate([sampled, signal]))
        kernels = last.own_tangent_kernel(gram) + jnp.einsum("iiab->iab", through[:_READOUTS, :_READOUTS])
        different = through[np.nonzero(~np.eye(_READOUTS, dtype=bool))]
        B = width * jnp.einsum("sab,scd->acbd", different, different) / len(different)
        F = last.C_W**2 / width * through[_READOUTS:, _READOUTS:].transpose(0, 2, 1, 3)
        metrics = jnp.concatenate([passed.metrics[1:], last.kernel(gram)[None]])
        return Sample(metrics, tangent=TangentSample(kernels[None], B[None], F[None]))

    def numbers_per_network(self) -> int:
        """Every layer's directions and images, forwards and backwards."""
        samples = len(self.x)
        questions = samples + samples * (samples + _READOUTS)
        return 4 * questions * sum(self.trunk.widths)


TANGENT_METHODS: dict[str, Callable[[MLP, Float[Array, "N n_0"]], Sampler]] = {
    "dense": DenseTangentSampler,
    "lazy": LazyTangentSampler,
}


def kernel_through_rows(network: RandomNetwork, passed: Forward, rows: Float[Array, "m n"]) -> Float[Array, "m m N N"]:
    r"""$\sum_{jk}w_{i_1j}\,\sigma'_{j;\alpha}\widehat H_{jk;\alpha\beta}\,\sigma'_{k;\beta}w_{i_2k}$ for `rows` $w$ of weights of a layer
    to come, by the backward equation PDLT (8.16)-(8.18). `network` is the one that `forward` returned."""
    slopes = network.net.activation.derivative(1)(passed.preactivations[-1][-1])
    gradients, _ = pull_back(network, passed, rows[:, None] * slopes)
    return kernel_from_gradients(network.net, passed, gradients)


def kernel_from_gradients(net: LayeredNetwork, passed: Forward, gradients: Backward) -> Float[Array, "m m N N"]:
    r"""The tangent kernel of $m$ quantities whose gradients are known: the sum over layers of
    $(\lambda_b + \lambda_W\sigma_\alpha\cdot\sigma_\beta/n)$ times products of gradients, PDLT (8.5), PDLT (8.16)."""
    products = jnp.concatenate([jnp.einsum("lian,lkbn->likab", u, u) for u in gradients.preactivations])
    weights = jax.vmap(Layer.own_tangent_kernel)(net.layers, passed.grams)
    return jnp.einsum("lab,likab->ikab", weights, products)


def _both_orders(M: Float[Array, "P n n"], samples: int) -> Float[Array, "N N n n"]:
    r"""From $\alpha\le\beta$ to all pairs: $M_{jk;\alpha\beta} = M_{kj;\beta\alpha}$."""
    ordered = M[pair_index(samples).of]
    return jnp.where(np.tri(samples, k=-1, dtype=bool)[..., None, None], jnp.swapaxes(ordered, -1, -2), ordered)


def _exactly(signal: Float[Array, "N n"], M: Float[Array, "N N n n"], layer: Layer) -> Sample:
    samples, width = signal.shape
    gram = signal @ signal.T / width
    kernel = layer.own_tangent_kernel(gram) + layer.C_W / width * jnp.trace(M, axis1=-2, axis2=-1)
    flat = M.reshape(samples**2, width**2)
    B = layer.C_W**2 / width * (flat @ flat.T).reshape((samples,) * 4).transpose(0, 2, 1, 3)
    F = layer.C_W**2 / width * jnp.einsum("aj,cdjk,bk->acbd", signal, M, signal)
    return Sample(layer.kernel(gram), tangent=TangentSample(kernel[None], B, F))
