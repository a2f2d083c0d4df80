"""Class labels: as targets of cross-entropy, and by the scikit-learn estimator."""

import numpy as np
import pytest
import sklearn.base
from scipy.special import softmax
from sklearn.utils.estimator_checks import check_estimator

import finitewidth as fw

RANDOM = np.random.default_rng(0)
X, ASKED = RANDOM.normal(size=(9, 3)), RANDOM.normal(size=(4, 3))
LABELS = np.array([0, 1, 2] * 3)
NET = fw.MLP("relu", (3, 7, 3), C_b=0.2, C_W=1.5)


def classifier(**how):
    return fw.learning.KernelNetworkClassifier(**how)


def test_class_numbers_are_one_hot_rows():
    """Of a network, of kernels, and of networks that are trained; targets of squared errors stay numbers."""
    how = {"loss": "cross_entropy", "time": 0.5, "samples": 8}
    by_rows, by_numbers = (fw.predict(NET, X, y, ASKED, **how).mean.mean for y in (np.eye(3)[LABELS], LABELS))
    np.testing.assert_array_equal(by_rows, by_numbers)
    trained = [
        fw.train(NET, X[:3], y, ASKED, networks=2, steps=1, loss="cross_entropy").mean.mean
        for y in (np.eye(3)[LABELS[:3]], [0, 1, 2])
    ]
    np.testing.assert_array_equal(*trained)
    kernel = fw.kernel(NET, np.concatenate([X, ASKED]))
    given = [fw.predict(kernel=kernel, y_train=y, **how).mean.mean for y in (np.eye(3)[LABELS], LABELS)]
    np.testing.assert_array_equal(*given)
    assert fw.predict(kernel=kernel, y_train=LABELS).mean.shape == (4, 1)


@pytest.mark.parametrize("wrong", [-1, 3])
def test_class_numbers_out_of_range_are_named(wrong):
    with pytest.raises(fw.DomainError, match=f"class number {wrong}; expected numbers from 0 to 2") as error:
        fw.predict(NET, X, np.where(LABELS == 1, wrong, LABELS), ASKED, loss="cross_entropy", time=1.0)
    assert error.value.argument == "y_train"


def test_the_classifier_learns_logits_of_smoothed_labels():
    """PDLT (10.36)-(10.41): kernel regression of log p about its mean, put together by hand; labels of any kind."""
    names = np.array(["cat", "ant", "bee"])[LABELS]
    how = {"activation": "relu", "depth": 2, "C_b": 0.2, "C_W": 1.5, "smoothing": 0.2}
    model = classifier(**how).fit(X, names)
    theta = fw.frozen_ntk(NET, np.concatenate([X, ASKED]))
    place = np.array([2, 0, 1])[LABELS]  # in the order of the alphabet
    logits = np.log(np.where(np.eye(3)[place] == 1, 0.8, 0.1))
    logits -= logits.mean(axis=1, keepdims=True)
    expected = softmax(theta[9:, :9] @ np.linalg.solve(theta[:9, :9], logits), axis=1)
    np.testing.assert_allclose(model.predict_proba(ASKED), expected, rtol=1e-10)
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    assert (model.predict(ASKED) == model.classes_[expected.argmax(axis=1)]).all()
    assert (model.predict(X) == names).all()
    assert sklearn.base.clone(model).get_params() == model.get_params()


@pytest.mark.parametrize(("wrong", "argument"), [({"smoothing": 0.0}, "smoothing"), ({"depth": 0}, "depth")])
def test_wrong_settings_are_named(wrong, argument):
    with pytest.raises(fw.ArgumentError) as error:
        classifier(**wrong).fit(X, LABELS)
    assert error.value.argument == argument
    with pytest.raises(fw.DomainError, match="at least two classes"):
        classifier().fit(X, 0 * LABELS)


@pytest.mark.measured
def test_all_checks_of_scikit_learn():
    """Slow, as each compiles kernels of its own shapes."""
    results = check_estimator(classifier(), on_skip=None)
    assert all(each["status"] in ("passed", "skipped") for each in results)
    assert sum(each["status"] == "passed" for each in results) > 40
