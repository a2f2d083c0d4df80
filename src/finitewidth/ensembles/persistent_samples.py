"""Neurons of many residual networks, one by one: what the law of a layer, and not only its moments, is read from."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.random import fold_in
from jaxtyping import Float, Key

from .._arrays import Array
from ..activations import Activation
from ..gaussian.root import pivoted_root
from ..networks import ResidualLayer, ResidualMLP
from .normals import standard_normals
from .one_by_one import one_by_one


class Persistent(NamedTuple):
    r"""Given these, neuron $i$ of a layer is Gaussian around `passed[..., i]` with the covariance `block`, independently of all others."""

    block: Float[np.ndarray, "*networks N N"]
    r"""$\widehat G_{\alpha\beta} = C_b + \frac{C_W}n\sum_j\sigma_{j;\alpha}\sigma_{j;\beta}$: what weights and biases add, PDLT (4.70)."""
    passed: Float[np.ndarray, "*networks N m"]
    r"""$\gamma z^{(\ell-1)}_{i;\alpha}$ of the first neurons, PDLT (B.3); zero where there is no way around."""


class _Sampler(eqx.Module):
    activation: Activation = eqx.field(static=True)
    width: int = eqx.field(static=True)
    neurons: int = eqx.field(static=True)
    first: Float[Array, "N N"]
    layers: ResidualLayer

    def __call__(self, key: Key[Array, ""]) -> tuple[Array, Array]:
        """What `Persistent` has of one network, all layers but the first."""

        def fresh(number: int | Array) -> Array:
            return standard_normals(fold_in(key, number), (len(self.first), self.width), self.first.dtype)

        def step(z: Array, xs: tuple[Array, ResidualLayer]) -> tuple[Array, tuple[Array, Array]]:
            number, layer = xs
            signal = layer.signal(self.activation, z)
            block, passed = layer.kernel(signal @ signal.T / self.width), layer.skip * z
            return pivoted_root(block) @ fresh(number) + passed, (block, passed[:, : self.neurons])

        numbers = 1 + jnp.arange(len(self.layers.skip))
        return lax.scan(step, pivoted_root(self.first) @ fresh(0), (numbers, self.layers))[1]


def persistent_samples(
    net: ResidualMLP, x: Float[Array, "N n_0"], neurons: int, networks: int, seed: int
) -> Persistent:
    """Every layer of an ensemble, of each network the first so many neurons; network $i$ of a seed is always the same."""
    sampler = _Sampler(net.activation, net.width, neurons, jnp.asarray(net.first_kernel(x)), net.layers[1:])
    samples = len(x)
    numbers = samples * (net.depth * (samples + neurons) + 4 * net.width)
    block, passed = one_by_one(sampler, numbers, networks, seed, (net, x, networks, seed, "persistent"))
    first = np.broadcast_to(np.asarray(sampler.first), (networks, 1, samples, samples))
    nothing = np.zeros((networks, 1, samples, neurons))
    return Persistent(np.concatenate([first, block], axis=1), np.concatenate([nothing, passed], axis=1))
