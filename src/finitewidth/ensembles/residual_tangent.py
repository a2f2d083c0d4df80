r"""Tangent kernels of residual networks, with the weights of the layer measured averaged over.

$\widehat H' = (\lambda_b + \lambda_W\,\sigma\cdot\sigma/n)\,1 + J\widehat HJ^{\mathsf T}$ with $J = W\sigma' + \gamma$: PDLT (8.12)
with a way around. Given everything up to layer $\ell$, with $M = \sigma'\widehat H\sigma'$ and sums over all neurons unless said otherwise,

$$E[\widehat H'_{ii;12}] = \lambda_b + \frac{\lambda_W}n\sigma_1\cdot\sigma_2 + \frac{C_W}n\,\mathrm{tr}\,M_{12}
  + \gamma^2\widehat H_{ii;12},$$

$$B_{1324} = \frac{C_W^2}n\sum M_{jk;12}M_{jk;34}
  + \frac{\gamma^2C_W}n\sum\big[(\sigma'\widehat H)_{jk;12}(\sigma'\widehat H)_{jk;34}
  + (\widehat H\sigma')_{jk;12}(\widehat H\sigma')_{jk;34}\big] + \frac{\gamma^4}{n-1}\sum_{j\ne k}\widehat H_{jk;12}\widehat H_{jk;34},$$

and $F$ likewise with $\sigma_{j;1}$ or $z_{j;1}$ on the left and $\sigma_{k;2}$ or $z_{k;2}$ on the right in place of the first factor.
Neurons are replicas, as they are for the metric.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Float, Key

from .._arrays import Array
from ..networks import ResidualLayer, ResidualMLP
from .forward_backward import Stage, draw, through_layers
from .gaussian_matrix import DenseGaussian
from .residual import next_preactivations, seen_by, trunk
from .samplers import Sample, Sampler, TangentSample


class ResidualTangentSampler(Sampler):
    """The forward equation with stored weights: every layer is measured."""

    trunk: ResidualMLP
    x: Float[Array, "N n_0"]
    following: ResidualLayer

    def __init__(self, net: ResidualMLP, x: Float[Array, "N n_0"]):
        self.trunk, self.x = trunk(net), x
        self.following = net.layers[1:]

    def __call__(self, key: Key[Array, ""]) -> Sample:
        """All hidden layers."""
        activation, network = self.trunk.activation, draw(self.trunk, key, DenseGaussian)
        slope = activation.derivative(1)

        def layer(
            state: tuple[Array, Array], xs: tuple[Stage, ResidualLayer, Bool[Array, ""]]
        ) -> tuple[tuple[Array, Array], Sample]:
            (z, H), (stage, following, is_first) = state, xs
            assert isinstance(stage.weights, DenseGaussian)
            own = stage.layers
            assert isinstance(own, ResidualLayer)
            signal = jnp.where(is_first, z, activation(z))
            W = stage.weights.entries
            jacobian = W * jnp.where(is_first, 0.0, slope(z))[:, None, :]
            if W.shape[0] == W.shape[1]:
                jacobian = jacobian + own.skip * jnp.eye(len(W))
            gram = signal @ signal.T / signal.shape[1]
            H = jnp.einsum("aij,abjk,blk->abil", jacobian, H, jacobian, optimize=True)
            H = H + own.own_tangent_kernel(gram)[:, :, None, None] * jnp.eye(len(W))
            z = next_preactivations(activation, stage, z, is_first)
            return (z, H), _measured(following, activation(z), slope(z), z, H)

        samples, features = self.x.shape
        state = self.x, jnp.zeros((samples, samples, features, features), self.x.dtype)
        found, start = [], 0
        for stage in network.stages:
            here = slice(start, start + len(stage.biases))
            first = jnp.arange(here.start, here.stop) == 0
            state, measured = through_layers(layer, state, (stage, self.following[here], first))
            found.append(measured)
            start = here.stop
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), *found)

    def numbers_per_network(self) -> int:
        """Weights, what every neuron sees, and a few matrices for every pair of samples."""
        samples, width = len(self.x), max(self.trunk.widths)
        return self.trunk.parameters + 8 * samples**2 * width**2 + 2 * width * len(self.following.skip) * samples**2


def _measured(
    layer: ResidualLayer,
    signal: Float[Array, "N n"],
    slope: Float[Array, "N n"],
    z: Float[Array, "N n"],
    H: Float[Array, "N N n n"],
) -> Sample:
    width, skip, C_W = z.shape[1], layer.skip, layer.C_W
    left, right = H * slope[:, None, :, None], H * slope[None, :, None, :]
    M = left * slope[None, :, None, :]
    gram = signal @ signal.T / width
    shared = layer.own_tangent_kernel(gram) + C_W / width * jnp.trace(M, axis1=-2, axis2=-1)
    kernels = shared + skip**2 * jnp.einsum("abii->iab", H)
    different = H * (1 - jnp.eye(width))

    def squares(one: Array) -> Array:
        flat = one.reshape(len(z) ** 2, -1)
        return (flat @ flat.T).reshape((len(z),) * 4).transpose(0, 2, 1, 3)

    def ends(first: Array, one: Array, second: Array) -> Array:
        return jnp.einsum("aj,cdjk,bk->acbd", first, one, second, optimize=True)

    beside = skip**2 * C_W / width
    apart = skip**4 / max(width - 1, 1)
    B = C_W**2 / width * squares(M) + beside * (squares(left) + squares(right)) + apart * squares(different)
    F = C_W**2 / width * ends(signal, M, signal) + apart * ends(z, different, z)
    F = F + beside * (ends(signal, left, z) + ends(z, right, signal))
    seen = seen_by(layer, signal, z)
    return Sample(seen.metrics, seen.neurons, TangentSample(kernels, B, F))


RESIDUAL_TANGENT_METHODS: dict[str, Callable[[ResidualMLP, Float[Array, "N n_0"]], Sampler]] = {
    "dense": ResidualTangentSampler
}
