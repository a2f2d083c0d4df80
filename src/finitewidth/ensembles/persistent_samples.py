"""Neurons of many residual networks, one by one: what the law of a layer, and not only its moments, is read from."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.random import fold_in
from jaxtyping import Float, Int, Key

from .._arrays import Array
from .._compile import compiled_in_haste
from ..activations import Activation
from ..gaussian.root import pivoted_root
from ..networks import ResidualLayer, ResidualMLP
from ..runs.lanes import lane_size
from ..runs.run import run
from ..runs.store import empty_store, put
from .normals import standard_normals

_AT_MOST = 256


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
    key, samples = jax.random.key(seed), len(x)
    lane = lane_size(samples * (net.depth * (samples + neurons) + 4 * net.width), _AT_MOST)

    def lane_from(first: Int[Array, ""] | int) -> tuple[Array, Array]:
        return _lane(sampler, key, first, lane)

    block, passed = run(
        lambda store, first: put(store, first, lane_from(first)),
        empty_store(jax.eval_shape(lane_from, 0), networks),
        total=networks,
        lane=lane,
        problem=(net, x, networks, seed, "persistent"),
        chunk_size=lane,
    )
    first = np.broadcast_to(np.asarray(sampler.first), (networks, 1, samples, samples))
    nothing = np.zeros((networks, 1, samples, neurons))
    return Persistent(np.concatenate([first, block], axis=1), np.concatenate([nothing, passed], axis=1))


@compiled_in_haste(static_argnames="lane")
def _lane(sampler: _Sampler, key: Key[Array, ""], first: Int[Array, ""] | int, lane: int) -> tuple[Array, Array]:
    """Networks number `first`, `first + 1`, ..., side by side."""
    return jax.vmap(lambda number: sampler(fold_in(key, number)))(first + jnp.arange(lane))
