"""Cross-entropy at infinite width: the end in closed form, the way there by following first outputs."""

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp, softmax

import finitewidth as fw
from finitewidth._errors import DomainError, ShapeError

RANDOM = np.random.default_rng(3)
FEATURES, FIRST = RANDOM.normal(size=(2, 7, 12))
THETA, K = FEATURES @ FEATURES.T / 12, FIRST @ FIRST.T / 12
P = softmax(RANDOM.normal(size=(5, 3)), axis=1)


def learn(kernel=(THETA, K), **how):
    return fw.predict(kernel=kernel, y_train=P, loss="cross_entropy", **how)


def descend(z, rate, steps):
    for _ in range(steps):
        z = z - rate * THETA[:, :5] @ (softmax(z[..., :5, :], axis=-1) - P)
    return z


def test_the_end_is_where_descent_from_drawn_outputs_leads():
    """PDLT (10.36)-(10.39): mean and whole covariance, coupled outputs included, are linear in first outputs: compared with
    descent from unit vectors of these, to rounding."""
    end = learn()
    offset = descend(np.zeros((7, 3)), 3.0 / np.linalg.eigvalsh(THETA)[-1], 6000)
    np.testing.assert_allclose(end.mean, offset[5:], atol=1e-9)
    units = np.eye(21).reshape(21, 7, 3)
    columns = (descend(units, 3.0 / np.linalg.eigvalsh(THETA)[-1], 6000) - offset)[:, 5:]
    np.testing.assert_allclose(end.covariance, _covariance(columns), atol=1e-9)
    np.testing.assert_allclose(end.loss[-1], -np.sum(P * np.log(P)), rtol=1e-12)


def _covariance(columns):
    """Of outputs that are linear in first ones: `columns` at [first sample and output, test sample, output]."""
    first = np.kron(K, np.eye(3))
    flat = columns.reshape(21, -1)
    return (flat.T @ first @ flat).reshape(2, 3, 2, 3).transpose(0, 2, 1, 3)


def test_the_sum_over_outputs_is_conserved():
    """It has the same law before and after, so that its variance is that of the kernel; and its mean is zero."""
    end = learn()
    np.testing.assert_allclose(end.mean.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(end.covariance.sum(axis=(2, 3)), 3 * K[5:, 5:], rtol=1e-12)
    drawn = learn(time=1.0, samples=64, seed=2)
    before = drawn.trajectory.covariance.mean[0].sum(axis=(2, 3))
    np.testing.assert_allclose(drawn.covariance.mean.sum(axis=(2, 3)), before, rtol=1e-8)


def test_softmax_predictions_do_not_know_the_loss():
    """PDLT (10.39): from zero outputs, squared errors of centred logits end at the softmax of cross-entropy."""
    zero = np.zeros_like(K)
    entropy = learn((THETA, zero))
    squared = fw.predict(kernel=(THETA, zero), y_train=np.log(P))
    np.testing.assert_allclose(softmax(entropy.mean, axis=1), softmax(squared.mean, axis=1), rtol=1e-12)


def test_the_first_loss():
    """Of independent normal outputs, by drawing them."""
    found = learn().loss[0]
    z = np.random.default_rng(0).normal(size=(400_000, 5, 3)) * np.sqrt(np.diag(K)[:5])[:, None]
    losses = logsumexp(z, axis=-1).sum(axis=-1) - np.sum(P * z, axis=(1, 2))
    assert abs(losses.mean() - found) < 4 * losses.std() / np.sqrt(len(losses))


def test_gradient_descent_step_by_step():
    """PDLT (10.6): the same first outputs, followed by hand; full batch and by batches."""
    rate, samples = 0.7, 32
    found = learn(algorithm="gradient_descent", rate=rate, steps=5, samples=samples, seed=4, record=[2])
    values, vectors = np.linalg.eigh(K)
    first = (vectors * np.sqrt(np.maximum(values, 0))) @ np.random.default_rng(4).normal(size=(samples, 7, 3))
    for moment, steps in ((1, 2), (2, 5)):
        z = descend(first, rate, steps)
        tests = z[:, 5:]
        np.testing.assert_allclose(found.trajectory.mean.mean[moment], tests.mean(axis=0), atol=1e-12)
        error = tests.std(axis=0, ddof=1) / np.sqrt(samples)
        np.testing.assert_allclose(found.trajectory.mean.standard_error[moment], error, rtol=1e-10)
        losses = -np.sum(P * log_softmax(z[:, :5], axis=-1), axis=(1, 2))
        assert found.loss.mean[moment] == pytest.approx(losses.mean(), rel=1e-12)
    flat = tests.reshape(samples, -1)
    expected = np.cov(flat.T).reshape(2, 3, 2, 3).transpose(0, 2, 1, 3)
    np.testing.assert_allclose(found.covariance.mean, expected, atol=1e-12)
    about = flat - flat.mean(axis=0)
    spread = np.std(about[:, :, None] * about[:, None], axis=0) / np.sqrt(samples)
    found_spread = found.covariance.standard_error.transpose(0, 2, 1, 3).reshape(6, 6)
    np.testing.assert_allclose(found_spread, spread, rtol=1e-8)
    by_batches = learn(algorithm="sgd", rate=rate, steps=5, batch=[tuple(range(5))] * 5, samples=samples, seed=4)
    np.testing.assert_allclose(by_batches.mean.mean, found.mean.mean, atol=1e-12)


def test_gradient_flow_is_the_limit_of_small_steps():
    """The error of steps falls in proportion to their size."""
    flow = learn(time=2.0, samples=4).mean.mean
    gaps = [
        np.abs(learn(algorithm="gradient_descent", rate=2 / n, steps=n, samples=4).mean.mean - flow).max()
        for n in (200, 400)
    ]
    assert gaps[1] / gaps[0] == pytest.approx(0.5, abs=0.02)


def test_flow_reaches_the_end():
    """A long time of flow, in standard errors of its draws, and draw by draw in what is conserved."""
    end, late = learn(), learn(time=2000.0, samples=400)
    assert (np.abs(late.mean.mean - end.mean) < 4.5 * late.mean.standard_error).all()
    assert (np.abs(late.covariance.mean - end.covariance) < 4.5 * late.covariance.standard_error).all()
    assert late.loss.mean[-1] == pytest.approx(end.loss[-1], rel=1e-6)


def test_smoothed_labels():
    r"""Their logits differ by $\log\frac{(1-\epsilon)(n_L-1)}\epsilon$."""
    smooth = fw.learning.smooth_labels(np.eye(4)[[1, 3]], 0.1)
    np.testing.assert_allclose(smooth.sum(axis=1), 1, rtol=1e-15)
    assert np.log(smooth[0, 1] / smooth[0, 0]) == pytest.approx(np.log(0.9 * 3 / 0.1), rel=1e-14)
    for bad in (0.0, 1.0, -0.1):
        with pytest.raises(DomainError, match="`epsilon`"):
            fw.learning.smooth_labels(np.eye(3), bad)
    with pytest.raises(DomainError, match="one-hot"):
        fw.learning.smooth_labels(np.full((2, 2), 0.5), 0.1)
    with pytest.raises(ShapeError, match="`classes`"):
        fw.learning.smooth_labels([0, 1], 0.1)


def test_what_is_refused():
    hard = np.eye(3)[[0, 1, 2, 0, 1]]
    with pytest.raises(DomainError, match=r"`learning.smooth_labels`, or a finite `time`"):
        fw.predict(kernel=(THETA, K), y_train=hard, loss="cross_entropy")
    fw.predict(kernel=(THETA, K), y_train=hard, loss="cross_entropy", time=1.0, samples=2)
    with pytest.raises(DomainError, match="no probabilities"):
        fw.predict(kernel=(THETA, K), y_train=2 * hard, loss="cross_entropy")
    with pytest.raises(ShapeError, match="at least two"):
        fw.predict(kernel=(THETA, K), y_train=np.ones(5), loss="cross_entropy")
    with pytest.raises(DomainError, match="4/lambda_max"):
        learn(algorithm="gradient_descent", rate=4.01 / np.linalg.eigvalsh(THETA[:5, :5])[-1])
    with pytest.raises(DomainError, match="1e6/lambda_max"):
        learn(time=1e9)
    with pytest.raises(DomainError, match="`record`"):
        learn(record=[1.0])
    with pytest.raises(DomainError, match="`samples`"):
        learn(time=1.0, samples=1)
