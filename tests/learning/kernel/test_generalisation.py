"""Test losses in two parts, by drawing networks; when to stop."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax, softmax

import finitewidth as fw
from finitewidth._errors import ArgumentError, DomainError, ShapeError
from finitewidth.learning import generalisation_error, last_layer_only, one_to_one, optimal_stopping

RANDOM = np.random.default_rng(3)
FEATURES, FIRST = RANDOM.normal(size=(2, 8, 12))
THETA, K = FEATURES @ FEATURES.T / 12, FIRST @ FIRST.T / 12
TARGETS, TOLD = RANDOM.normal(size=(5, 2)), RANDOM.normal(size=(3, 2))


def test_squared_errors_in_two_parts():
    """PDLT (10.50)-(10.52): the mean over drawn networks, in standard errors."""
    found = generalisation_error(fw.predict(kernel=(THETA, K), y_train=TARGETS), TOLD)
    z = np.linalg.cholesky(K) @ np.random.default_rng(0).normal(size=(100_000, 8, 2))
    trained = z[:, 5:] - THETA[5:, :5] @ np.linalg.solve(THETA[:5, :5], z[:, :5] - TARGETS)
    losses = np.sum((trained - TOLD) ** 2, axis=(1, 2)) / 2
    assert abs(losses.mean() - found.total) < 4 * losses.std() / np.sqrt(len(losses))
    assert found.bias == pytest.approx(np.sum((trained.mean(axis=0) - TOLD) ** 2) / 2, rel=0.02)


def test_any_loss_to_second_order():
    """PDLT (10.55): cross-entropy of outputs that fluctuate little, and coupled outputs; by drawing, in standard errors."""
    P = softmax(RANDOM.normal(size=(5, 3)), axis=1)
    told = softmax(RANDOM.normal(size=(3, 3)), axis=1)
    small = fw.predict(kernel=(THETA, 1e-3 * K), y_train=P, loss="cross_entropy")
    found = generalisation_error(small, told, loss="cross_entropy")
    flat = small.covariance.transpose(0, 2, 1, 3).reshape(9, 9)
    draws = np.random.default_rng(1).multivariate_normal(small.mean.ravel(), flat, size=400_000).reshape(-1, 3, 3)
    losses = -np.sum(told * log_softmax(draws, axis=-1), axis=(1, 2))
    exact = -np.sum(told * log_softmax(small.mean, axis=-1))
    assert found.bias == pytest.approx(exact, rel=1e-12)
    linear = np.sum(
        (softmax(small.mean, axis=-1) - told) * (draws - small.mean), axis=(1, 2)
    )  # of mean zero: taken off
    assert abs((losses - linear).mean() - found.total) < 4 * (losses - linear).std() / np.sqrt(len(losses)) + 1e-6
    assert found.variance > 50e-6


def test_a_callable_is_a_loss_and_squared_errors_are_exact():
    prediction = fw.predict(kernel=(THETA, K), y_train=TARGETS)
    by_name = generalisation_error(prediction, TOLD)
    by_hand = generalisation_error(prediction, TOLD, loss=lambda z, y: jnp.sum((z - y) ** 2) / 2)
    np.testing.assert_allclose([by_hand.bias, by_hand.variance], [by_name.bias, by_name.variance], rtol=1e-12)


def test_along_a_trajectory():
    way = fw.predict(kernel=(THETA, K), y_train=TARGETS, time=3.0, record=[1.0])
    found = generalisation_error(way.trajectory, TOLD)
    assert found.total.shape == (3,)
    assert found.total[-1] == generalisation_error(way, TOLD).total
    assert found.bias[0] == pytest.approx(np.sum(TOLD**2) / 2)
    assert found.variance[0] == pytest.approx(np.trace(K[5:, 5:]))


def test_when_to_stop():
    """Noisy targets are best stopped early: the least test loss on a fine grid of times is not below the one found."""
    noisy = TARGETS + 2.0
    told = TOLD + 0.5 * fw.predict(kernel=(THETA, K), y_train=noisy).mean
    found = optimal_stopping(kernel=(THETA, K), y_train=noisy, y_test=told)
    times = np.geomspace(1e-3, 1e3, 400)
    way = fw.predict(kernel=(THETA, K), y_train=noisy, time=times[-1], record=times)
    totals = generalisation_error(way.trajectory, told).total
    assert found.error.total <= totals.min() * (1 + 1e-4)
    assert found.error.total < 0.99 * totals[0]
    assert found.error.total < found.at_the_end.total
    assert math.isfinite(found.time)
    at = fw.predict(kernel=(THETA, K), y_train=noisy, time=found.time)
    assert generalisation_error(at, told).total == pytest.approx(found.error.total, rel=1e-12)


def test_when_the_end_is_best():
    """Targets that the kernel itself makes are learned to the end."""
    zero, learnable = np.zeros_like(K), THETA[:, :5] @ np.ones((5, 1))
    found = optimal_stopping(kernel=(THETA, zero), y_train=learnable[:5], y_test=learnable[5:])
    assert found.error.total < 1e-12
    assert found.time * np.linalg.eigvalsh(THETA[:5, :5])[0] > 10


def test_one_training_input():
    """PDLT (10.56)-(10.57): against the prediction from the same two kernels; several at once."""
    found = one_to_one(np.stack([THETA[:2, :2], K[:2, :2]]), np.stack([K[:2, :2], THETA[:2, :2]]))
    for index, pair in enumerate(((THETA, K), (K, THETA))):
        exact = fw.predict(kernel=tuple(matrix[:2, :2] for matrix in pair), y_train=np.ones(1))
        assert found.robustness[index] == pytest.approx(exact.mean.item() - 1, rel=1e-12)
        assert found.variance[index] == pytest.approx(exact.variance.item(), rel=1e-12)
    with pytest.raises(ShapeError, match="2 x 2"):
        one_to_one(THETA, K)
    with pytest.raises(DomainError, match="learns nothing"):
        one_to_one(np.zeros((2, 2)), np.eye(2))


def test_training_the_last_layer_is_bayes():
    """PDLT (10.44)-(10.49): then the tangent kernel is the kernel."""
    net = fw.MLP("gelu", (3, 8, 8, 1), C_b=[0.1, 0.2, 0.3], C_W=[1.1, 1.2, 1.3], lambda_b=2.0)
    x = RANDOM.normal(size=(4, 3))
    np.testing.assert_allclose(fw.frozen_ntk(last_layer_only(net), x), fw.kernel(net, x), rtol=1e-12)


def test_scale_invariant_networks_forget_angles():
    r"""PDLT (10.82)-(10.95) for ReLU of rates $1/L$: $\cos\zeta$ at depths 10, 100, 1000, 10000, robustness and variance."""
    depths = [10, 100, 1000, 10_000]
    found = fw.critical.tangent_angle_flow("relu", 1.5, depths[-1], lambda_b=0.5, lambda_W=1.0)
    cosine = found.correlation[np.array(depths) - 1]
    np.testing.assert_allclose(cosine, [0.36846, 0.27407, 0.25335, 0.25042], atol=1.1e-5)
    pair = np.array([[1.0, cosine[-1]], [cosine[-1], 1.0]])
    angle = np.cos(found.psi[-1])
    at_the_end = one_to_one(pair, np.array([[1.0, angle], [angle, 1.0]]))
    assert at_the_end.robustness == pytest.approx(-3 / 4, abs=1e-3)
    assert at_the_end.variance == pytest.approx(9 / 16, abs=1e-3)


def test_bad_arguments():
    prediction = fw.predict(kernel=(THETA, K), y_train=TARGETS)
    with pytest.raises(ShapeError, match="`y_test`"):
        generalisation_error(prediction, TOLD[:2])
    with pytest.raises(ArgumentError, match="`prediction`"):
        generalisation_error(3, TOLD)


def test_not_to_train_may_be_best():
    """Outputs that start at zero and are told the opposite of what they would learn: the least loss is the first, that of zero."""
    learned = fw.predict(kernel=(THETA, 0 * K), y_train=TARGETS).mean
    best = optimal_stopping(kernel=(THETA, 0 * K), y_train=TARGETS, y_test=-9 * learned)
    assert best.time == 0
    assert best.error.total == pytest.approx(np.sum((9 * learned) ** 2) / 2, rel=1e-12)
    assert best.at_the_end.total == pytest.approx(np.sum((10 * learned) ** 2) / 2, rel=1e-9)
    random = optimal_stopping(kernel=(THETA, K), y_train=TARGETS + 2.0, y_test=TOLD)
    assert random.time == 0
    assert random.error.total == pytest.approx(np.sum(TOLD**2) / 2 + np.trace(K[5:, 5:]), rel=1e-12)
    onwards = optimal_stopping(kernel=(THETA, 0 * K), y_train=TARGETS, y_test=learned)
    assert onwards.error.total < 1e-12
    assert onwards.time > 0
