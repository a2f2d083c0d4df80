"""The first step of the last hidden layer: deep linear networks by hand, real networks in standard errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import DomainError
from finitewidth.learning import penultimate_step
from finitewidth.learning.losses import squared_error
from finitewidth.realised.parameters import draw_parameters, preactivations

X = np.array([[1.0, 0.3, -0.5], [-0.4, 1.2, 0.2], [0.5, 0.6, 0.8]])
Y = np.array([[1.2, 0.4], [-0.7, 0.9]])
ETA = 0.5


def bent(z):
    return jnp.tanh(z) + 0.4 * jnp.tanh(z) ** 2


def measured_step(net, networks, seed=0):
    """Mean and mean square over networks of the first-order change of the last hidden layer, each averaged over its neurons."""
    rates = [np.asarray(net.lambda_W) / np.asarray(net.widths[:-1]), np.asarray(net.lambda_b)]

    def one(key):
        params = draw_parameters(net, key)
        slope = jax.grad(lambda theta: squared_error(preactivations(net, theta, X[:2])[-1], Y))(params)
        weights = tuple(-ETA * rate * part for rate, part in zip(rates[0], slope.weights, strict=True))
        biases = tuple(-ETA * rate * part for rate, part in zip(rates[1], slope.biases, strict=True))
        change = type(params)(weights, biases)
        moved = jax.jvp(lambda theta: preactivations(net, theta, X)[-2], (params,), (change,))[1]
        return moved.mean(axis=1), moved @ moved.T / moved.shape[1]

    found = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(seed), networks))
    return [(np.mean(part, axis=0), np.std(part, axis=0) / np.sqrt(networks)) for part in map(np.asarray, found)]


@pytest.mark.measured
def test_real_networks_feel_the_fluctuations_between_neurons():
    """PDLT (10.11)-(10.12): the mean, and the mean square with its B term, which the printed one lacks, in standard errors and what
    the next order in 1/n leaves."""
    n = 128
    net = fw.MLP(bent, (3, n, n, 2), C_b=0.1, C_W=1.2, lambda_b=0.3, lambda_W=0.7)
    theory = penultimate_step(net, X[:2], Y, ETA, X[2:])
    (mean, mean_error), (square, square_error) = measured_step(net, 6000)
    assert (np.abs(mean - theory.mean) < 4 * mean_error + 3 / n * np.abs(theory.mean)).all()
    assert (np.abs(square - theory.second_moment) < 4 * square_error + 6 / n * np.abs(theory.second_moment).max()).all()
    missed = np.diag(square - theory.from_mean_kernel) / np.diag(square)
    assert (missed > 0.1).all()


def test_deep_linear_networks_by_hand():
    r"""PDLT (10.11)-(10.12), three layers without biases: $\widehat H_{ij} = \delta_{ij}\Theta^{(2)} + $ fluctuations, of which $B^{(2)} =
    C_W^2\Theta^{(1)}\Theta^{(1)}$, PDLT (8.33)."""
    n, C, rate = 32, 1.3, 0.7
    net = fw.MLP("linear", (3, n, 2 * n, 2), C_W=C, lambda_b=0.0, lambda_W=rate)
    found = penultimate_step(net, X[:2], Y, ETA, X[2:])
    overlap = X @ X.T / 3
    theta1 = rate * overlap
    theta2, K3 = rate * C * overlap + C * theta1, C**3 * overlap
    M = 2 * K3[:2, :2] + Y @ Y.T
    printed = ETA**2 * C / (2 * n) * theta2[:, :2] @ M @ theta2[:2]
    between = ETA**2 * C / (2 * n) * 2 * np.einsum("da,eb,ab->de", C * theta1[:, :2], C * theta1[:, :2], M)
    np.testing.assert_allclose(found.from_mean_kernel, printed, rtol=1e-10)
    np.testing.assert_allclose(found.second_moment, printed + between, rtol=1e-10)
    np.testing.assert_allclose(found.mean, 0, atol=1e-15)  # odd activations do not know which way to go


def test_one_hidden_layer_of_relu():
    r"""PDLT (10.11): $\langle\sigma'\sigma\rangle = \sqrt{K/2\pi}$; and the first layer's tangent kernel does not fluctuate."""
    net = fw.MLP("relu", (3, 50, 2), C_W=2.0, lambda_b=0.3, lambda_W=0.7)
    found = penultimate_step(net, X[:2], Y, ETA)
    theta, K = 0.3 + 0.7 * X[:2] @ X[:2].T / 3, 2 * X[:2] @ X[:2].T / 3
    expected = -ETA * 2 * 2.0 / 50 * theta @ np.sqrt(np.diag(K) / (2 * np.pi))
    np.testing.assert_allclose(found.mean, expected, rtol=1e-10)
    np.testing.assert_array_equal(found.second_moment, found.from_mean_kernel)
    with pytest.raises(DomainError, match="one layer"):
        penultimate_step(fw.MLP("relu", (3, 2)), X[:2], Y, ETA)
