"""The scikit-learn estimator: scikit-learn's own checks, and a real data set against its Gaussian process."""

import contextlib
from unittest import SkipTest

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.estimator_checks import estimator_checks_generator

import finitewidth as fw
from finitewidth._errors import ArgumentError
from finitewidth.learning import BayesianNetworkRegressor

CHECKS = list(estimator_checks_generator(BayesianNetworkRegressor(depth=2)))


def test_scikit_learn_finds_nothing_to_complain_about():
    """All the checks of `check_estimator`, one after the other."""
    done = 0
    for estimator, check in CHECKS:
        with contextlib.suppress(SkipTest):  # pandas, array interfaces: what the check needs is not installed
            check(estimator)
            done += 1
    assert done > 40


class Given(Kernel):
    """A kernel function of scikit-learn that knows one network."""

    def __init__(self, net):
        self.net = net

    def __call__(self, X, Y=None, eval_gradient=False):
        together = X if Y is None else np.concatenate([X, Y])
        K = fw.kernel(self.net, together).copy()  # scikit-learn writes on it
        return K if Y is None else K[: len(X), len(X) :]

    def diag(self, X):
        return np.diagonal(fw.kernel(self.net, X)).copy()

    def is_stationary(self):
        return False


def test_diabetes_against_a_gaussian_process_of_scikit_learn():
    """The same kernel and noise: the same predictions, deviations and evidence to 1e-8."""
    X, y = load_diabetes(return_X_y=True)
    X, y = X / X.std(axis=0), (y - y.mean()) / y.std()
    ours = BayesianNetworkRegressor("relu", depth=3, noise=0.3).fit(X[:350], y[:350])
    theirs = GaussianProcessRegressor(Given(ours.network_), alpha=0.3, optimizer=None).fit(X[:350], y[:350])
    mean, deviation = ours.predict(X[350:], return_std=True)
    their_mean, their_deviation = theirs.predict(X[350:], return_std=True)
    np.testing.assert_allclose(mean, their_mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(deviation, their_deviation, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        ours.predict(X[350:], return_cov=True)[1], theirs.predict(X[350:], return_cov=True)[1], atol=1e-8
    )
    np.testing.assert_allclose(ours.log_evidence_, theirs.log_marginal_likelihood_value_, rtol=1e-10)
    assert ours.score(X[350:], y[350:]) > 0.3  # of this set a good regression explains half of the variance


def test_finite_width_and_several_outputs():
    X = np.random.default_rng(0).normal(size=(4, 3))
    y = np.random.default_rng(1).normal(size=(2, 2))
    fitted = BayesianNetworkRegressor(width=256, noise=0.1).fit(X[:2], y)
    direct = fw.bayes(fw.MLP("relu", (3, 256, 256, 2), C_b=0.1, C_W=2.0), X[:2], y, X[2:], noise=0.1)
    mean, covariance = fitted.predict(X[2:], return_cov=True)
    np.testing.assert_array_equal(mean, direct.mean)
    np.testing.assert_array_equal(covariance, direct.covariance)
    np.testing.assert_allclose(fitted.log_evidence_, direct.log_evidence, rtol=1e-12)
    with pytest.raises(ArgumentError, match="return_std, return_cov"):
        fitted.predict(X, return_std=True, return_cov=True)
