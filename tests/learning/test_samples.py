"""Which networks, inputs and targets `bayes`, `predict`, `exact_posterior` and `train` take, and by which names they refuse others."""

import sys

import numpy as np
import pytest

import finitewidth as fw

NET, X, Y, ASKED = fw.MLP("relu", (2, 8, 1)), [[1.0, 0.5]], [1.0], [[0.3, -1.0]]
GOOD = {"net": NET, "x_train": X, "y_train": Y, "x_test": ASKED}
VERBS = {
    "bayes": fw.bayes,
    "predict": fw.predict,
    "exact_posterior": lambda **given: fw.learning.exact_posterior(**given, networks=1000),
    "train": lambda **given: fw.train(**given, networks=2, steps=1),
}
WRONG = [
    *(({name: [[1.0, 0.5], [0.0, 0.0]]}, name) for name in ("x_train", "x_test")),
    *(({name: [[1.0, 0.5], [1e300, 1.0]]}, name) for name in ("x_train", "x_test")),
    *(({name: [[1.0]]}, name) for name in ("x_train", "x_test")),
    ({"x_train": None}, "x_train"),
    ({"y_train": None}, "y_train"),
]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("wrong", "argument"), WRONG)
def test_inputs_are_refused_by_the_callers_name(verb, wrong, argument):
    with pytest.raises(fw.ArgumentError) as error:
        VERBS[verb](**GOOD | wrong)
    assert error.value.argument == argument


def test_beliefs_without_anything_to_ask_are_evidence():
    """The evidence of one target is a Gaussian density; there is nothing else to say."""
    found = fw.bayes(NET, X, Y, order=0)
    K = float(fw.kernel(NET, X)[0, 0])
    assert float(found.log_evidence) == pytest.approx(-(np.log(2 * np.pi * K) + 1 / K) / 2, rel=1e-12)
    assert found.mean.shape == (0, 1)
    wide = fw.MLP("relu", (2, 100, 1))
    corrected = fw.bayes(wide, X, Y)
    assert corrected.order == 1
    assert float(corrected.log_evidence) == pytest.approx(float(fw.bayes(wide, X, Y, ASKED).log_evidence), rel=1e-12)


def test_a_kernel_alone_is_of_order_zero():
    """No order need be told; but targets must be."""
    assert fw.bayes(kernel=[[1.0, 0.5], [0.5, 1.0]], y_train=[2.0]).mean.tolist() == [[1.0]]
    for verb in (fw.bayes, fw.predict):
        with pytest.raises(fw.ArgumentError, match="got nothing; expected targets") as error:
            verb(kernel=np.eye(2))
        assert error.value.argument == "y_train"


@pytest.mark.parametrize("outputs", [None, 2])
def test_residual_networks_at_infinite_width(outputs):
    """Bayes and training by the kernels of the network, put together by hand; without a readout neurons are outputs, any number of them."""
    net = fw.ResidualMLP("relu", width=8, depth=3, gamma=0.5, outputs=outputs)
    x, y, asked = np.array([[1.0, 0.5], [0.2, -0.9]]), np.array([[0.3, 1.0], [-0.2, 0.4]]), np.array([[0.3, -1.0]])
    both = np.concatenate([x, asked])
    K, theta = fw.kernel(net, both), fw.frozen_ntk(net, both)
    found, learned = fw.bayes(net, x, y, asked), fw.predict(net, x, y, asked)
    np.testing.assert_allclose(found.mean, K[2:, :2] @ np.linalg.solve(K[:2, :2], y), rtol=1e-12)
    np.testing.assert_allclose(learned.mean, theta[2:, :2] @ np.linalg.solve(theta[:2, :2], y), rtol=1e-12)
    assert found.order == 0
    for verb in (fw.bayes, fw.predict):
        with pytest.raises(fw.ArgumentError, match="ResidualMLP at order 1; expected an MLP, or order=0"):
            verb(net, x, y, asked, order=1)
    if outputs is not None:
        with pytest.raises(fw.ShapeError, match="y_train"):
            fw.bayes(net, x, y[:, :1], asked)


def test_too_many_inputs_at_order_one_are_refused_before_any_work(monkeypatch):
    """Also where they are singular, or do not fit: the reason is their number."""

    def work(*_):
        raise AssertionError("kernels were computed")

    monkeypatch.setattr(sys.modules["finitewidth.learning.kernel.predict"], "kernels_and_problem", work)
    with pytest.raises(fw.DomainError, match=r"100 training samples at order 1, .* GB; .* as does the time") as error:
        fw.predict(fw.MLP("tanh", (2, 8, 8, 1)), np.ones((100, 2)), np.ones(100), ASKED, order=1)
    assert error.value.argument == "x_train"


def test_ways_to_train_that_order_one_does_not_know():
    with pytest.raises(fw.DomainError, match="'sgd' at order 1; expected one of gradient_flow") as error:
        fw.predict(**GOOD, algorithm="sgd", order=1)
    assert error.value.argument == "algorithm"
    with pytest.raises(fw.UnknownNameError, match="did you mean 'gradient_flow'"):
        fw.predict(**GOOD, algorithm="gradient_flo", order=1)
