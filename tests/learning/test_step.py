"""One step of gradient descent: what the tangent kernel predicts, and what a real step does."""

import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth._errors import ArgumentError
from finitewidth.learning import gradient_step, predicted_change, predicted_loss_change
from finitewidth.learning.losses import cross_entropy, squared_error
from finitewidth.networks import MLP
from finitewidth.realised.parameters import apply, draw_parameters
from finitewidth.realised.tangent_kernel import ntk

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(3, 3)), RANDOM.normal(size=(3, 4))
PROBABILITIES = np.exp(Y) / np.exp(Y).sum(axis=1, keepdims=True)
LOSSES = {"mse": (squared_error, Y), "cross_entropy": (cross_entropy, PROBABILITIES)}


def network(activation="tanh"):
    return MLP(
        activation,
        (3, 7, 5, 6, 4),
        C_b=(0.3, 0.1, 0.2, 0.05),
        C_W=(1.3, 1.7, 1.4, 1.2),
        lambda_b=(0.5, 0.7, 0.2, 0.9),
        lambda_W=(1.1, 0.6, 1.4, 0.8),
    )


def product(z):
    """An observable of a hidden layer: it ties two neurons and two samples."""
    return jnp.sin(z[0, 0]) * z[1, 2] + z[2, 1] ** 2


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("batch", [None, [2, 0]])
def test_loss_through_the_tangent_kernel(loss, batch):
    r"""PDLT (8.13)-(8.14): $-\eta\,\epsilon\widehat H\epsilon$ with the kernel of the forward equation, full batch and part of it."""
    net, (function, y) = network(), LOSSES[loss]
    params = draw_parameters(net, 1)
    z = apply(net, params, X)[-1]
    error = np.asarray(z - y if loss == "mse" else np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) - y)
    seen = np.isin(np.arange(3), range(3) if batch is None else batch)[:, None]
    H = ntk(net, params, X)[-1]
    expected = -0.3 * np.einsum("ai,bj,abij->", error, error * seen, H)
    found = predicted_loss_change(net, params, X, y, 0.3, loss=loss, batch=batch)
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    np.testing.assert_allclose(
        predicted_loss_change(net, params, X, y, 0.3, loss=function, batch=batch), found, rtol=1e-14
    )


@pytest.mark.parametrize("layer", [1, 2, 3, 4])
def test_observables_through_the_tangent_kernel_of_their_layer(layer):
    """PDLT (8.3)-(8.4): the kernel of a hidden layer with the chain rule, at inputs that are not trained on."""
    net = network()
    params, observed = draw_parameters(net, 2), np.random.default_rng(5).normal(size=(3, 3))
    z, seen = apply(net, params, X), apply(net, params, observed)
    error = z[-1] - Y
    for at in range(net.depth - 1, layer - 1, -1):
        error = error @ params.weights[at] * (1 - np.tanh(z[at - 1]) ** 2)
    slope = np.zeros_like(seen[layer - 1])
    one, two, three = seen[layer - 1][0, 0], seen[layer - 1][1, 2], seen[layer - 1][2, 1]
    slope[0, 0], slope[1, 2], slope[2, 1] = np.cos(one) * two, np.sin(one), 2 * three
    H = ntk(net, params, X, observed)[layer - 1]
    expected = -0.2 * np.einsum("ai,bj,abij->", error, slope, H)
    found = predicted_change(net, params, X, Y, 0.2, product, layer=layer, observed=observed)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("activation", ["tanh", "relu", "gelu"])
def test_real_steps_deviate_in_proportion_to_the_rate(activation):
    """PDLT (8.3), (8.13): the remainder of loss and observable is of second order."""
    net = network(activation)
    params = draw_parameters(net, 3)
    deviations = []
    for rate in (1e-4, 1e-5):
        after = gradient_step(net, params, X, Y, rate)
        old, new = apply(net, params, X), apply(net, after, X)
        loss = float(squared_error(new[-1], Y) - squared_error(old[-1], Y))
        hidden = float(product(new[1]) - product(old[1]))
        predicted = (
            predicted_loss_change(net, params, X, Y, rate),
            predicted_change(net, params, X, Y, rate, product, layer=2),
        )
        deviations.append(np.abs(np.array([loss, hidden]) / np.array(predicted, dtype=float) - 1))
    np.testing.assert_allclose(deviations[0], 10 * deviations[1], rtol=0.05)
    assert deviations[0].max() < 0.02


def test_step_by_hand():
    r"""PDLT (8.6): a linear network of one layer moves by $-\eta\lambda_W(z-y)x/n_0$ and $-\eta\lambda_b(z-y)$."""
    net = MLP("linear", (3, 4), C_b=1.0, lambda_b=0.7, lambda_W=1.5)
    params = draw_parameters(net, 0)
    after = gradient_step(net, params, X[:1], Y[:1], 0.1)
    error = (apply(net, params, X[:1])[-1] - Y[:1])[0]
    np.testing.assert_allclose(after.weights[0], params.weights[0] - 0.1 * 1.5 / 3 * np.outer(error, X[0]), rtol=1e-13)
    np.testing.assert_allclose(after.biases[0], params.biases[0] - 0.1 * 0.7 * error, rtol=1e-13)


def test_refusals():
    """Every bad argument is named."""
    net = network()
    params = draw_parameters(net, 0)
    for bad, match in (
        (dict(loss="msee"), "did you mean 'mse'"),
        (dict(loss=3), "loss"),
        (dict(loss=lambda z, y: z - y), "one number"),
        (dict(y=Y[:2]), "`y`"),
        (dict(x=X[:, :2]), "`x`"),
        (dict(batch=[3]), "batch"),
        (dict(batch=[]), "batch"),
        (dict(rate=float("nan")), "rate"),
        (dict(params=3), "params"),
    ):
        with pytest.raises(ArgumentError, match=match):
            predicted_loss_change(**(dict(net=net, params=params, x=X, y=Y, rate=0.1) | bad))
    with pytest.raises(ArgumentError, match="`observable`: got str"):
        predicted_change(net, params, X, Y, 0.1, "mean", layer=1)
    with pytest.raises(ArgumentError, match="layer"):
        predicted_change(net, params, X, Y, 0.1, product, layer=5)
