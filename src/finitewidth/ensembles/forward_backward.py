"""One network passed through forwards and backwards, on any kind of Gaussian matrix."""

import itertools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Float, Key

from .._arrays import Array
from ..networks import Layer, LayeredNetwork
from .gaussian_matrix import GaussianMatrix
from .normals import standard_normals

MatrixKind = Callable[[Key[Array, ""], tuple[int, int], Float[Array, ""]], GaussianMatrix]


class Stage(eqx.Module):
    """Consecutive layers of one shape, stacked along a leading axis `r` so that depth is a scan."""

    weights: GaussianMatrix
    biases: Float[Array, "r n_out"]
    layers: Layer


class RandomNetwork(eqx.Module):
    """One draw of a network's parameters."""

    net: LayeredNetwork
    stages: tuple[Stage, ...]


class Forward(eqx.Module):
    """What a forward pass leaves behind."""

    preactivations: tuple[Float[Array, "_ N _"], ...]
    r"""$z^{(\ell)}$, stage by stage: shape (layers of the stage, N, $n_\ell$)."""
    grams: Float[Array, "L N N"]
    r"""$\frac1{n_{\ell-1}}\sum_j\sigma^{(\ell-1)}_{j;\alpha}\sigma^{(\ell-1)}_{j;\beta}$, what each layer receives."""
    metrics: Float[Array, "L N N"]
    r"""The conditional metrics $\widehat G^{(\ell)} = C_b^{(\ell)} + C_W^{(\ell)}\times$ `grams`, PDLT (4.70)."""


class Backward(eqx.Module):
    """Derivatives of chosen outputs, sample by sample."""

    preactivations: tuple[Float[Array, "_ m N _"], ...]
    r"""$\partial z^{(L)}_{i;\alpha}/\partial z^{(\ell)}_{j;\alpha}$ for the $m$ chosen $i$, stage by
    stage: shape (layers of the stage, m, N, $n_\ell$)."""
    inputs: Float[Array, "m N n_0"]
    r"""$\partial z^{(L)}_{i;\alpha}/\partial x_{j;\alpha}$."""


def draw(net: LayeredNetwork, key: Key[Array, ""], kind: MatrixKind) -> RandomNetwork:
    r"""Parameters with $E[b_i^2] = C_b^{(\ell)}$ and $E[W_{ij}^2] = C_W^{(\ell)}/n_{\ell-1}$, PDLT (2.19)-(2.20)."""
    keys = jax.random.split(key, net.depth + 1)
    # All biases in one draw: each call of the generator costs a fraction of a second to compile.
    normals = standard_normals(keys[-1], (sum(net.widths[1:]),), net.C_b.dtype)

    stages, layer, neuron = [], 0, 0
    for (n_in, n_out), run in itertools.groupby(itertools.pairwise(net.widths)):
        depth = len(list(run))
        layers, neurons = slice(layer, layer + depth), slice(neuron, neuron + depth * n_out)
        layer, neuron = layers.stop, neurons.stop
        of_stage = net.layers[layers]
        weights = jax.vmap(kind, in_axes=(0, None, 0))(keys[layers], (n_out, n_in), of_stage.C_W / n_in)
        biases = jnp.sqrt(of_stage.C_b)[:, None] * normals[neurons].reshape(depth, n_out)
        stages.append(Stage(weights, biases, of_stage))
    return RandomNetwork(net, tuple(stages))


def forward(network: RandomNetwork, x: Float[Array, "N n_0"]) -> tuple[Forward, RandomNetwork]:
    r"""Preactivations and metrics of every layer, and the network that remembers what was asked.

    $$z^{(\ell)} = b^{(\ell)} + W^{(\ell)}\sigma^{(\ell-1)}\ \text{PDLT (2.5)},\qquad
      \widehat G^{(\ell)}_{\alpha\beta} = C_b^{(\ell)} + \frac{C_W^{(\ell)}}{n_{\ell-1}}
      \sum_j\sigma^{(\ell-1)}_{j;\alpha}\sigma^{(\ell-1)}_{j;\beta}\ \text{PDLT (4.70)}$$

    with $\sigma^{(0)} = x$.
    """

    def layer(signal: Array, layer: Stage) -> tuple[Array, tuple[Array, Array, Array, GaussianMatrix]]:
        gram = signal @ signal.T / signal.shape[1]
        products, weights = layer.weights.times(signal)
        z = layer.biases + products
        return network.net.activation(z), (z, gram, layer.layers.kernel(gram), weights)

    signal, preactivations, grams, metrics, stages = x, [], [], [], []
    for stage in network.stages:
        signal, (z, gram, metric, weights) = through_layers(layer, signal, stage)
        preactivations.append(z)
        grams.append(gram)
        metrics.append(metric)
        stages.append(eqx.tree_at(lambda stage: stage.weights, stage, weights))
    passed = Forward(tuple(preactivations), jnp.concatenate(grams), jnp.concatenate(metrics))
    return passed, RandomNetwork(network.net, tuple(stages))


def backward(
    network: RandomNetwork, passed: Forward, outputs: tuple[int, ...] = (0,)
) -> tuple[Backward, RandomNetwork]:
    """Derivatives of the output neurons `outputs`, through the same matrices as the forward pass."""
    chosen = jnp.eye(network.net.widths[-1], dtype=passed.metrics.dtype)[jnp.asarray(outputs)]
    samples = passed.metrics.shape[1]
    return pull_back(network, passed, jnp.broadcast_to(chosen[:, None], (len(outputs), samples, chosen.shape[1])))


def pull_back(
    network: RandomNetwork, passed: Forward, gradient: Float[Array, "m N n_L"]
) -> tuple[Backward, RandomNetwork]:
    r"""The derivatives of $m$ quantities by the output preactivations, pulled back through the same matrices.

    $$\frac{\partial q}{\partial z^{(\ell)}_j} = \sigma'^{(\ell)}_j\sum_k
      W^{(\ell+1)}_{kj}\frac{\partial q}{\partial z^{(\ell+1)}_k}\quad\text{PDLT (8.17)-(8.18)}$$

    `network` is the one that `forward` returned: its matrices remember what the forward pass asked of them.
    """
    slope = network.net.activation.derivative(1)
    count, samples = gradient.shape[:2]

    def layer(gradient: Array, xs: tuple[Stage, Array, Array]) -> tuple[Array, tuple[Array, GaussianMatrix]]:
        layer, z, is_output = xs  # gradient: with respect to the signal that leaves this layer
        gradient = jnp.where(is_output, gradient, gradient * slope(z))
        flat, weights = layer.weights.transpose_times(gradient.reshape(count * samples, -1))
        return flat.reshape(count, samples, -1), (gradient, weights)

    gradients, stages = [], []
    last = network.stages[-1]
    for stage, z in zip(reversed(network.stages), reversed(passed.preactivations), strict=True):
        is_output = (jnp.arange(len(z)) == len(z) - 1) & (stage is last)
        gradient, (here, weights) = through_layers(layer, gradient, (stage, z, is_output), reverse=True)
        gradients.append(here)
        stages.append(eqx.tree_at(lambda stage: stage.weights, stage, weights))
    return Backward(tuple(gradients[::-1]), gradient), RandomNetwork(network.net, tuple(stages[::-1]))


def through_layers(step: Callable[[Any, Any], Any], carry: Any, stacked: Any, reverse: bool = False) -> tuple[Any, Any]:
    """`lax.scan`, but a single layer may change the width of what it carries."""
    if len(jax.tree.leaves(stacked)[0]) > 1:
        return lax.scan(step, carry, stacked, reverse=reverse)
    carry, out = step(carry, jax.tree.map(lambda leaf: leaf[0], stacked))
    return carry, jax.tree.map(lambda leaf: leaf[None], out)
