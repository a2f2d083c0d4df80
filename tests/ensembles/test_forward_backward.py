"""Passes through a network: the same code on stored and on lazy matrices."""

import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from finitewidth.ensembles import DenseGaussian, LazyGaussian
from finitewidth.ensembles.forward_backward import backward, draw, forward
from finitewidth.networks import MLP

KINDS = [DenseGaussian, LazyGaussian]
OUTPUTS = (1, 0)
# Unequal layers, and a run of equal ones to which the output belongs.
MIXED = MLP("gelu", (3, 5, 4, 4, 4), C_b=[0.1, 0.2, 0.3, 0.4], C_W=[1.0, 1.1, 1.2, 1.3])
NARROW = MLP("tanh", (3, 8, 6, 6, 1), C_b=0.1, C_W=2.0)


def inputs(net, samples=2):
    return jnp.asarray(np.random.default_rng(9).normal(size=(samples, net.widths[0])))


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


@partial(jax.jit, static_argnames="kind")
def found_and_expected(net, key, x, kind):
    """Both passes, and the same from the matrices that are found at the end, by autodiff."""
    passed, network = forward(draw(net, key, kind), x)
    gradients, network = backward(network, passed, OUTPUTS)
    found = {
        "preactivations": [z for stage in passed.preactivations for z in stage],
        "metrics": list(passed.metrics),
        "gradients": [g for stage in gradients.preactivations for g in stage],
        "inputs": gradients.inputs,
    }

    layers = list(layers_of(network))
    nudges = [jnp.zeros((len(x), n)) for n in net.widths[1:]]
    preactivations = plain_pass(net, layers, x, nudges)
    signals = [x, *(net.activation(z) for z in preactivations[:-1])]
    by_nudges, by_inputs = jax.jacobian(
        lambda nudges, x: plain_pass(net, layers, x, nudges)[-1][:, jnp.asarray(OUTPUTS)], argnums=(0, 1)
    )(nudges, x)  # (sample, output, sample, neuron)
    expected = {
        "preactivations": preactivations,
        "metrics": [C_b + C_W * s @ s.T / s.shape[1] for C_b, C_W, s in zip(net.C_b, net.C_W, signals, strict=True)],
        "gradients": [jnp.einsum("ajai->jai", jacobian) for jacobian in by_nudges],
        "inputs": jnp.einsum("ajai->jai", by_inputs),
    }
    return found, expected


@pytest.mark.parametrize("kind", KINDS)
def test_passes_agree_with_the_network_written_out(kind):
    """Preactivations PDLT (2.5), metrics PDLT (4.70), and gradients by autodiff, for one matrix of either kind."""
    found, expected = found_and_expected(MIXED, jax.random.key(4), inputs(MIXED), kind)
    for quantity, values in expected.items():
        for a, b in zip(jax.tree.leaves(found[quantity]), jax.tree.leaves(values), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12, err_msg=quantity)


@partial(jax.jit, static_argnames=("kind", "forgetful"))
def statistics(net, x, keys, kind, forgetful=False):
    return jax.vmap(lambda key: statistics_of_one(net, x, key, kind, forgetful))(keys)


def statistics_of_one(net, x, key, kind, forgetful):
    """Correlation of forward and backward, outputs, gradient norms, last metric, a bilinear form with weights."""
    passed, network = forward(draw(net, key, kind), x)
    if forgetful:
        network = draw(net, jax.random.fold_in(key, 1), kind)
    gradients, network = backward(network, passed)
    z, g = passed.preactivations[1][0], gradients.preactivations[1][0, 0]
    hidden = jax.tree.map(lambda leaf: leaf[0], network.stages[1].weights)
    again, _ = hidden.times(jnp.cos(passed.preactivations[0][0]))
    return jnp.stack(
        [
            z[0] @ g[0],
            passed.preactivations[-1][-1, 0, 0],
            jnp.sum(passed.preactivations[-1][-1]),
            jnp.linalg.norm(g[0]),
            g[0] @ g[1],
            passed.metrics[-1, 0, 1],
            jnp.linalg.norm(gradients.inputs[0, 1]),
            again[0] @ g[1],
        ]
    )


@pytest.mark.measured
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_lazy_networks_are_dense_networks_in_law(activation):
    """Two-sample Kolmogorov-Smirnov on eight statistics of narrow networks, three seeds, Bonferroni; PDLT (4.69)."""
    net = NARROW.replace(activation=activation)
    pvalues = []
    for seed in range(3):
        keys = jax.random.split(jax.random.key(seed), (2, 8000))
        dense, lazy = (np.asarray(statistics(net, inputs(net), k, kind)) for k, kind in zip(keys, KINDS, strict=True))
        pvalues += [stats.ks_2samp(*columns).pvalue for columns in zip(dense.T, lazy.T, strict=True)]
    assert min(pvalues) > 1e-2 / len(pvalues)


@pytest.mark.measured
def test_the_distributional_test_has_power():
    """A backward pass through fresh weights, as if forward and backward were independent, is told apart at once."""
    keys = jax.random.split(jax.random.key(0), (2, 8000))
    true = statistics(NARROW, inputs(NARROW), keys[0], LazyGaussian)
    wrong = statistics(NARROW, inputs(NARROW), keys[1], LazyGaussian, True)
    assert stats.ks_2samp(np.asarray(true[:, 0]), np.asarray(wrong[:, 0])).pvalue < 1e-6


def test_depth_is_a_scan():
    """The program of a network three times deeper is no longer."""

    def size(depth):
        net = MLP("tanh", (3, *[6] * depth, 1))

        def both(key, x):
            passed, network = forward(draw(net, key, LazyGaussian), x)
            return backward(network, passed)[0].inputs

        return len(jax.jit(both).lower(jax.random.key(0), inputs(net)).as_text().splitlines())

    assert size(30) == size(10)


WIDE = """
import resource
import jax
import jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
from finitewidth.ensembles import LazyGaussian
from finitewidth.ensembles.forward_backward import backward, draw, forward
from finitewidth.networks import MLP

def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def both(net, key, x):
    passed, network = forward(draw(net, key, LazyGaussian), x)
    gradients, _ = backward(network, passed)
    return passed.preactivations[-1], [jnp.sum(g**2, axis=-1) for g in gradients.preactivations]

arguments = MLP("tanh", (3, 10**6, 10**6, 10**6, 1), C_b=0.1, C_W=1.5), jax.random.key(0), jnp.eye(3)
run = jax.jit(both).lower(*arguments).compile()
before = megabytes()
output, squares = jax.block_until_ready(run(*arguments))
assert all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves((output, squares)))
print(megabytes() - before)
"""


@pytest.mark.measured
def test_a_network_a_million_wide_fits_a_laptop():
    """Forward and backward for three samples, three hidden layers: eight terabytes of weights each in 600 megabytes."""
    result = subprocess.run([sys.executable, "-c", WIDE], capture_output=True, text=True, check=True)
    assert float(result.stdout) < 600
