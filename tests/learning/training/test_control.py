"""Control variates: the same figures with smaller errors; and with them, corrections of order 1/n of networks that were really trained."""

import jax.numpy as jnp
import numpy as np
import pytest

import finitewidth as fw
from finitewidth.learning.training.matrices import DenseMatrix
from finitewidth.learning.training.one_network import LearningNetwork
from finitewidth.realised.parameters import Parameters

MIX = fw.Activation(
    lambda z: jnp.sin(z) + 0.3 * z**2 * jnp.exp(-0.2 * z**2), name="mix", formula="neither odd nor even"
)
X = np.array([[1.0, 0.3, -0.5], [-0.4, 1.2, 0.2], [0.5, 0.6, 0.8]])
TRAIN, TEST = X[:2], X[2:]
Y = np.array([[0.8, -0.5], [-0.4, 1.0]])
HYPER = {"C_b": 0.1, "C_W": 1.2, "lambda_b": 0.4, "lambda_W": 0.7}
STEPS = 40


def network(*hidden):
    return fw.MLP(MIX, (3, *hidden, 2), **HYPER)


def rate_of(net):
    return 0.8 / float(np.linalg.eigvalsh(fw.frozen_ntk(net, TRAIN))[-1])


def trained(net, networks, **how):
    return fw.train(net, TRAIN, Y, TEST, networks, rate_of(net), STEPS, control=True, **how)


def theory(net):
    return fw.predict(net, TRAIN, Y, TEST, "gradient_descent", rate=rate_of(net), steps=STEPS, order=1)


def deviations(measured, expected):
    return np.abs((measured.mean - expected) / measured.standard_error)


def test_the_same_figures_with_smaller_errors():
    """Of the same networks, with stored weights: the two estimates agree within the error of the plain one, and wide networks gain most."""
    gains = []
    for width in (24, 96):
        found = trained(network(width), 256)
        for plain, controlled in ((found.mean, found.controlled.mean), (found.covariance, found.controlled.covariance)):
            assert np.abs((plain.mean - controlled.mean) / plain.standard_error).max() < 4.5
        gains.append(np.median(found.mean.standard_error / found.controlled.mean.standard_error))
    assert gains[0] > 5
    assert gains[1] > 2 * gains[0]
    assert fw.train(network(24), TRAIN, Y, TEST, 2, steps=1).controlled is None


def test_the_tangent_kernel_that_lazy_networks_are_asked_for():
    """Against the forward equation PDLT (8.12), on the weights that the network holds."""
    net = network(7, 5)
    learner = LearningNetwork(net, np.random.default_rng(1), DenseMatrix)
    params = Parameters(tuple(np.asarray(W.entries) for W in learner.weights), tuple(map(np.asarray, learner.biases)))
    outputs, kernel = learner.tangent_kernel(X)
    np.testing.assert_allclose(outputs, fw.realised.apply(net, params, X)[-1], atol=1e-13)
    np.testing.assert_allclose(kernel, np.transpose(fw.ntk(net, params, X)[-1], (2, 3, 0, 1)), atol=1e-12)


def test_lazy_networks_have_controls_too():
    net = network(300, 300)
    found = trained(net, 3, method="lazy")
    assert found.controlled.mean.standard_error.max() < found.mean.standard_error.max() / 20
    assert np.abs(found.controlled.mean.mean - fw.predict(net, TRAIN, Y, TEST).mean).max() < 0.1


@pytest.mark.parametrize("wrong", [{"batch": 1}, {"loss": "cross_entropy"}, {"control": "yes"}])
def test_what_cannot_be_controlled_is_refused(wrong):
    y = np.full((2, 2), 0.5)
    with pytest.raises(fw.ArgumentError, match="control"):
        fw.train(network(8), TRAIN, y, TEST, 2, steps=2, **{"control": True} | wrong)


@pytest.mark.measured
def test_corrections_of_trained_ensembles():
    """PDLT (∞.160)-(∞.167): n times the shift of mean and covariance, measured with stored weights at several widths."""
    left, errors, inverse = [], [], []
    for width, networks in ((48, 12_000), (96, 8_000), (192, 6_000)):
        net = network(width)
        found, expected = trained(net, networks).controlled, theory(net)
        pairs = (found.mean, expected.mean), (found.covariance, expected.covariance)
        left.append(np.concatenate([width * (m.mean - e).ravel() for m, e in pairs]))
        errors.append(np.concatenate([width * m.standard_error.ravel() for m, _ in pairs]))
        inverse.append(1 / width)
    # What is left of n times the shift is of order 1/n: a line in 1/n through the three widths meets zero at infinite width.
    for differences, bars in zip(np.transpose(left), np.transpose(errors), strict=True):
        lines = np.stack([np.ones(3), inverse], axis=1) / bars[:, None]
        covariance = np.linalg.inv(lines.T @ lines)
        at_infinite_width = (covariance @ lines.T @ (differences / bars))[0]
        assert abs(at_infinite_width) < 4.5 * np.sqrt(covariance[0, 0])
    # The wiring of outputs, which is zero at infinite width, is far above the noise.
    assert 192 * abs(expected.wiring[0, 0, 0, 1]) > 8 * errors[-1][3]


@pytest.mark.measured
def test_lazily_trained_networks_of_a_thousand_neurons():
    """Two hidden layers, each network trained with weights that are never stored: means agree with errors a fiftieth of the plain ones."""
    net = network(1000, 1000)
    found, expected = trained(net, 40, method="lazy"), theory(net)
    assert deviations(found.controlled.mean, expected.mean).max() < 4.5
    assert found.controlled.mean.standard_error.max() < found.mean.standard_error.min() / 50
