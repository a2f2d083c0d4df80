"""Passes through a network: the same code on stored and on lazy matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from finitewidth.ensembles import DenseGaussian, LazyGaussian
from finitewidth.ensembles.forward_backward import backward, draw, forward
from finitewidth.networks import MLP
from scipy import stats

KINDS = [DenseGaussian, LazyGaussian]
NETS = {
    "unequal": MLP("tanh", (3, 6, 5, 4, 2), C_b=[0.1, 0.2, 0.3, 0.4], C_W=[1.0, 1.1, 1.2, 1.3]),
    "equal": MLP("gelu", (3, 6, 6, 6, 6, 2), C_b=0.1, C_W=1.5),
    "square": MLP("sin", (4, 4, 4, 4), C_b=0.1, C_W=1.5),
    "one layer": MLP("tanh", (3, 2), C_b=0.1, C_W=1.5),
}


def inputs(net, samples=3):
    return jax.random.normal(jax.random.key(9), (samples, net.widths[0]))


def layers_of(network):
    """Every layer's weights and biases as plain arrays; a lazy matrix is asked for all of itself."""
    for stage in network.stages:
        for i in range(len(stage.biases)):
            weights = jax.tree.map(lambda leaf, i=i: leaf[i], stage.weights)
            columns = weights.right.shape[1] if isinstance(weights, LazyGaussian) else weights.entries.shape[1]
            yield weights.times(jnp.eye(columns))[0].T, stage.biases[i]


def plain_pass(net, layers, x, nudges):
    """The network written out, PDLT (2.5), with an offset on every preactivation to differentiate by."""
    signal, preactivations = x, []
    for (weights, biases), nudge in zip(layers, nudges, strict=True):
        preactivations.append(signal @ weights.T + biases + nudge)
        signal = net.activation(preactivations[-1])
    return preactivations


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NETS)
def test_passes_agree_with_the_network_written_out(name, kind):
    """Preactivations PDLT (2.5), metrics PDLT (4.70), and gradients by autodiff through the matrices found at the end."""
    net, outputs = NETS[name], (1, 0)
    x = inputs(net)
    passed, network = jax.jit(forward)(draw(net, jax.random.key(4), kind), x)
    gradients, network = jax.jit(backward, static_argnames="outputs")(network, passed, outputs=outputs)
    layers = list(layers_of(network))
    nudges = [jnp.zeros((len(x), n)) for n in net.widths[1:]]
    expected = plain_pass(net, layers, x, nudges)

    preactivations = [z for stage in passed.preactivations for z in stage]
    for z, z_expected in zip(preactivations, expected, strict=True):
        np.testing.assert_allclose(z, z_expected, atol=1e-12)

    signals = [x, *(net.activation(z) for z in expected[:-1])]
    for metric, C_b, C_W, s in zip(passed.metrics, net.C_b, net.C_W, signals, strict=True):
        np.testing.assert_allclose(metric, C_b + C_W * s @ s.T / s.shape[1], atol=1e-12)

    jacobians = jax.jacobian(lambda nudges: plain_pass(net, layers, x, nudges)[-1][:, outputs])(nudges)
    found = [g for stage in gradients.preactivations for g in stage]
    for g, jacobian in zip(found, jacobians, strict=True):  # jacobian: (sample, output, sample, neuron)
        np.testing.assert_allclose(g, jnp.einsum("ajai->jai", jacobian), atol=1e-12)
    by_input = jax.jacobian(lambda x: plain_pass(net, layers, x, nudges)[-1][:, outputs])(x)
    np.testing.assert_allclose(gradients.inputs, jnp.einsum("ajai->jai", by_input), atol=1e-12)


def statistics(net, x, kind, key):
    """Outputs, gradient norms, correlation of forward and backward, last metric, a bilinear form with a weight matrix."""
    passed, network = forward(draw(net, key, kind), x)
    gradients, network = backward(network, passed)
    z, g = passed.preactivations[1][0], gradients.preactivations[1][0, 0]
    hidden = jax.tree.map(lambda leaf: leaf[0], network.stages[1].weights)
    again, _ = hidden.times(jnp.cos(passed.preactivations[0][0]))
    return jnp.stack(
        [
            passed.preactivations[-1][-1, 0, 0],
            jnp.sum(passed.preactivations[-1][-1]),
            jnp.linalg.norm(g[0]),
            g[0] @ g[1],
            z[0] @ g[0],
            passed.metrics[-1, 0, 1],
            jnp.linalg.norm(gradients.inputs[0, 1]),
            again[0] @ g[1],
        ]
    )


@pytest.mark.parametrize("activation", ["tanh", pytest.param("relu", marks=pytest.mark.slow)])
def test_lazy_networks_are_dense_networks_in_law(activation):
    """Two-sample Kolmogorov-Smirnov on eight statistics of narrow networks, three seeds, Bonferroni; PDLT (4.69)."""
    net = MLP(activation, (3, 8, 6, 6, 1), C_b=0.1, C_W=2.0)
    x = inputs(net, 2)
    sample = {
        kind: jax.jit(jax.vmap(lambda key, kind=kind: statistics(net, x, kind, key))) for kind in (DenseGaussian, LazyGaussian)
    }
    pvalues = []
    for seed in range(3):
        keys = jax.random.split(jax.random.key(seed), (2, 20_000))
        dense, lazy = (np.asarray(sample[kind](k)) for kind, k in zip(KINDS, keys, strict=True))
        pvalues += [stats.ks_2samp(dense[:, i], lazy[:, i]).pvalue for i in range(dense.shape[1])]
        # the same two laws without the memory of the forward pass would differ: see the next test
    assert min(pvalues) > 1e-2 / len(pvalues)


def test_the_distributional_test_has_power():
    """A backward pass through fresh weights, as if forward and backward were independent, is told apart at once."""
    net = MLP("tanh", (3, 8, 6, 6, 1), C_b=0.1, C_W=2.0)
    x = inputs(net, 2)

    def correlation(kind, forget, key):
        passed, network = forward(draw(net, key, kind), x)
        if forget:
            network = draw(net, jax.random.fold_in(key, 1), kind)
        gradients, _ = backward(network, passed)
        return passed.preactivations[1][0, 0] @ gradients.preactivations[1][0, 0, 0]

    keys = jax.random.split(jax.random.key(1), (2, 20_000))
    true = jax.vmap(lambda key: correlation(DenseGaussian, False, key))(keys[0])
    wrong = jax.vmap(lambda key: correlation(LazyGaussian, True, key))(keys[1])
    assert stats.ks_2samp(np.asarray(true), np.asarray(wrong)).pvalue < 1e-6


def test_depth_is_a_scan():
    """The program of a network three times deeper is no longer."""

    def size(depth):
        net = MLP("tanh", (3, *[6] * depth, 1))

        def both(key, x):
            passed, network = forward(draw(net, key, LazyGaussian), x)
            return backward(network, passed)[0].inputs

        return len(jax.jit(both).lower(jax.random.key(0), inputs(net)).as_text().splitlines())

    assert size(30) == size(10)
