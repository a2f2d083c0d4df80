"""The scikit-learn estimator: scikit-learn's own checks, and its Gaussian processes given the same kernel."""

import numpy as np
import pytest
import sklearn.base
from sklearn.datasets import load_digits
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.estimator_checks import check_estimator

import finitewidth as fw
from finitewidth._errors import ArgumentError

RANDOM = np.random.default_rng(0)
X, Y, ASKED = RANDOM.normal(size=(12, 3)), RANDOM.normal(size=(12, 2)), RANDOM.normal(size=(4, 3))


class Given(Kernel):
    """A matrix as a kernel of scikit-learn, whose inputs are row numbers."""

    def __init__(self, matrix):
        self.matrix = matrix

    def __call__(self, X, Y=None, eval_gradient=False):
        rows = X[:, 0].astype(int)
        columns = rows if Y is None else Y[:, 0].astype(int)
        return self.matrix[np.ix_(rows, columns)]

    def diag(self, X):
        return np.diag(self.matrix)[X[:, 0].astype(int)]

    def is_stationary(self):
        return False


def regressor(**how):
    return fw.learning.KernelNetworkRegressor(**how)


def test_it_is_what_predict_says():
    model = regressor(activation="erf", depth=2, C_b=0.2, C_W=1.5, lambda_b=0.5).fit(X, Y)
    net = fw.MLP("erf", (3, 7, 2), C_b=0.2, C_W=1.5, lambda_b=0.5)
    expected = fw.predict(net, X, Y, ASKED)
    mean, deviation = model.predict(ASKED, return_std=True)
    np.testing.assert_allclose(mean, expected.mean, rtol=1e-12)
    np.testing.assert_allclose(deviation, expected.standard_deviation, rtol=1e-12)
    np.testing.assert_allclose(model.predict(ASKED, return_cov=True)[1], expected.sample_covariance, rtol=1e-12)
    single = regressor(activation="erf", depth=2, C_b=0.2, C_W=1.5, lambda_b=0.5).fit(X, Y[:, 1])
    assert single.predict(ASKED).shape == single.predict(ASKED, return_std=True)[1].shape == (4,)
    np.testing.assert_allclose(single.predict(ASKED), mean[:, 1], rtol=1e-12)
    early = sklearn.base.clone(model).set_params(time=0.5).fit(X, Y).predict(ASKED)
    np.testing.assert_allclose(early, fw.predict(net, X, Y, ASKED, time=0.5).mean, rtol=1e-12)
    with pytest.raises(ArgumentError, match="return_std, return_cov"):
        model.predict(ASKED, return_std=True, return_cov=True)


def test_digits_by_the_gaussian_process_of_scikit_learn():
    """PDLT (6.57), (6.64) on real data: 1437 images of digits to learn, 360 to tell, with one kernel on both sides."""
    images, digit = load_digits(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(images))
    images, digit = images[order] / 16, np.eye(10)[digit[order]] - 0.1
    learned = 1437
    K = fw.kernel(fw.MLP("relu", (64, 1, 1, 1), C_W=2.0, C_b=0.1), images)
    noisy = K + 1e-3 * np.eye(len(K))  # between copies no kernel can tell: the same on both sides
    rows = np.arange(len(K))[:, None]
    peer = GaussianProcessRegressor(Given(noisy), alpha=0.0, optimizer=None).fit(rows[:learned], digit[:learned])
    mean, covariance = peer.predict(rows[learned:], return_cov=True)
    found = fw.predict(kernel=noisy, y_train=digit[:learned])
    np.testing.assert_allclose(found.mean, mean, atol=1e-8)
    np.testing.assert_allclose(found.sample_covariance, covariance[..., 0], atol=1e-8)
    assert np.mean(found.mean.argmax(axis=1) == digit[learned:].argmax(axis=1)) > 0.97


@pytest.mark.measured
def test_all_checks_of_scikit_learn():
    """Slow, as each compiles kernels of its own shapes."""
    results = check_estimator(regressor(), on_skip=None)
    assert all(each["status"] in ("passed", "skipped") for each in results)
    assert sum(each["status"] == "passed" for each in results) > 40
