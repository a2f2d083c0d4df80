"""Networks that learn step by step: stored or lazy, each step is the gradient step of the network with these weights."""

import jax
import numpy as np
import pytest

from drawn_networks import as_parameters, completed
from finitewidth.ensembles.forward_backward import draw, forward
from finitewidth.ensembles.gaussian_matrix import DenseGaussian
from finitewidth.learning import LOSSES, gradient_step
from finitewidth.learning.training.dense import descended
from finitewidth.learning.training.matrices import DenseMatrix, LazyMatrix
from finitewidth.learning.training.one_network import LearningNetwork
from finitewidth.networks import MLP
from finitewidth.realised.parameters import Parameters, apply

RANDOM = np.random.default_rng(0)
X, Y, SEEN = RANDOM.normal(size=(3, 2)), RANDOM.normal(size=(3, 2)), RANDOM.normal(size=(2, 2))
TARGETS = {"mse": Y, "cross_entropy": np.exp(Y) / np.exp(Y).sum(axis=1, keepdims=True)}
NET = MLP(
    "tanh",
    (2, 20, 24, 24, 24, 2),
    C_b=(0.3, 0.1, 0.2, 0.05, 0.1),
    C_W=(1.3, 1.7, 1.4, 1.2, 1.1),
    lambda_b=(0.5, 0.7, 0.2, 0.9, 0.4),
    lambda_W=(1.1, 0.6, 1.4, 0.8, 1.2),
)
STEPS, RATE = 12, 0.3


def parameters(network):
    """All weights and biases of a network that has finished: lazy ones as they were at the start, the others as they are."""
    random = np.random.default_rng(9)
    return [
        completed(weights, random) if isinstance(weights, LazyMatrix) else np.asarray(weights.entries)
        for weights in network.weights
    ], [np.asarray(bias) for bias in network.biases]


@pytest.mark.parametrize(
    ("loss", "batches"),
    [("mse", None), ("mse", [[0, 2], [1, 2]]), ("cross_entropy", None), ("cross_entropy", [[2], [0]])],
)
def test_lazy_training_is_gradient_descent_on_its_own_weights(loss, batches):
    """Every output on the way, to 1e-10: the weights that were never stored, completed, and trained by autodiff."""
    y, batches = TARGETS[loss], batches or [[0, 1, 2]]
    error = jax.jit(jax.grad(LOSSES[loss]))
    network = LearningNetwork(NET, np.random.default_rng(1))
    first, stored = parameters(network)[1], [network.weights[i].entries + 0 for i in (0, -1)]
    found = []
    for step in range(STEPS + 1):
        passed = network.forward(X)
        found.append((passed.outputs, network.forward(SEEN).outputs))
        batch = np.asarray(batches[step % len(batches)])
        network.descend(passed, np.asarray(error(passed.outputs, y))[batch], RATE, batch)
    weights = parameters(network)[0]
    params = Parameters((stored[0], *weights[1:-1], stored[1]), tuple(first))
    for step, (trained, seen) in enumerate(found):
        np.testing.assert_allclose(apply(NET, params, X)[-1], trained, atol=1e-10)
        np.testing.assert_allclose(apply(NET, params, SEEN)[-1], seen, atol=1e-10)
        params = gradient_step(NET, params, X, y, RATE, loss=loss, batch=batches[step % len(batches)])
    assert np.abs(found[-1][1] - found[0][1]).max() > 0.1  # it has learned


def test_a_dense_step_is_a_gradient_step():
    network = draw(NET, jax.random.key(3), DenseGaussian)
    passed, _ = forward(network, X)
    error = (passed.preactivations[-1][-1] - Y) * np.asarray([1.0, 0.0, 1.0])[:, None]
    moved = as_parameters(descended(network, passed, X, error, RATE))
    expected = gradient_step(NET, as_parameters(network), X, Y, RATE, batch=[0, 2])
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, atol=1e-13), moved, expected)


@pytest.mark.parametrize("kind", [LazyMatrix, DenseMatrix])
def test_every_layer_is_drawn_with_its_law(kind):
    r"""Given the layer before, neurons are independent and Gaussian, PDLT (4.70), and biases are part of it: in standard errors of
    the 800 neurons of one network, for all pairs of samples and each layer."""
    net = NET.replace(widths=(2, 800, 800, 800, 800, 800))
    network = LearningNetwork(net, np.random.default_rng(5), kind)
    signal, squares = X, []
    for weights, bias, C_b, C_W in zip(network.weights, network.biases, net.C_b, net.C_W, strict=True):
        z = np.asarray(weights.times(signal)[0]) + bias
        expected = float(C_b) + float(C_W) * signal @ signal.T / signal.shape[1]
        error = np.sqrt((expected**2 + np.outer(np.diag(expected), np.diag(expected))) / 800)
        np.testing.assert_array_less(np.abs(z @ z.T / 800 - expected), 4.5 * error)
        squares.append(np.sum(z * np.linalg.solve(expected, z)))  # chi^2 of as many degrees of freedom as z has entries
        np.testing.assert_array_less(np.abs(z.mean(axis=1)), 4.5 * np.sqrt(np.diag(expected) / 800))
        np.testing.assert_array_less(np.abs(np.var(bias) / float(C_b) - 1), 4.5 * np.sqrt(2 / 800))
        signal = np.tanh(z)
    degrees = len(squares) * z.size
    assert abs(sum(squares) - degrees) < 4.5 * np.sqrt(2 * degrees)
    np.testing.assert_allclose(LearningNetwork(net, np.random.default_rng(5), kind).forward(X).outputs, z, atol=1e-12)
