"""Predictions of theory and of measurement: the same class, whose covariance is kept in parts or whole."""

import numpy as np
import pytest

import finitewidth as fw
from finitewidth._errors import ArgumentError, DomainError
from finitewidth.results import (
    Ensemble,
    LearningProblem,
    Measurement,
    Prediction,
    Training,
    Trajectory,
    as_prediction,
)

RANDOM = np.random.default_rng(0)
MEAN = RANDOM.normal(size=(3, 2))
ROOT = RANDOM.normal(size=(3, 3))
ALONE = ROOT @ ROOT.T
WIRING = np.einsum("ai,bj->abij", RANDOM.normal(size=(3, 2)), RANDOM.normal(size=(3, 2)))
WIRING = WIRING + WIRING.transpose(1, 0, 3, 2)
PROBLEM = LearningProblem(RANDOM.normal(size=(4, 2)), RANDOM.normal(size=(4, 5)), RANDOM.normal(size=(3, 5)))
NET = fw.MLP("tanh", (5, 8, 2))


def _prediction(mean, loss=None, ensemble=None, **covariance):
    loss = np.zeros(2) if loss is None else loss
    stacked = {name: _twice(leaf) for name, leaf in covariance.items()}
    way = Trajectory(_twice(mean), times=np.array([0.0, 1.0]), loss=loss, **stacked)
    how = Training("gradient_descent", "mse", rate=0.1, steps=10, time=1.0)
    return Prediction(mean, trajectory=way, problem=PROBLEM, training=how, net=NET, ensemble=ensemble, **covariance)


def _twice(leaf):
    if isinstance(leaf, Measurement):
        return Measurement(np.stack([leaf.mean] * 2), np.stack([leaf.standard_error] * 2))
    return np.stack([leaf, leaf])


@pytest.mark.parametrize("wiring", [None, WIRING])
def test_the_covariance_is_built_from_its_parts(wiring):
    r"""$\delta_{ij}S_{\beta_1\beta_2} + W_{\beta_1\beta_2ij}$, entry by entry, along the trajectory too."""
    parts = {} if wiring is None else {"wiring": wiring}
    found = _prediction(MEAN, sample_covariance=ALONE, **parts)
    for a, b, i, j in np.ndindex(3, 3, 2, 2):
        expected = ALONE[a, b] * (i == j) + (0 if wiring is None else wiring[a, b, i, j])
        assert found.covariance[a, b, i, j] == expected
        assert found.trajectory.covariance[1, a, b, i, j] == expected
        if (a, i) == (b, j):
            assert found.variance[a, i] == found.trajectory.variance[0, a, i] == expected
            assert found.standard_deviation[a, i] == np.sqrt(max(expected, 0))


def test_a_measured_covariance_is_kept_whole():
    r"""Errors go with their entries; that of a root is $\delta v/2\sqrt v$."""
    values = RANDOM.uniform(1, 2, size=(3, 3, 2, 2))
    whole = Measurement(values, values / 100)
    found = _prediction(Measurement(MEAN, MEAN**2), whole_covariance=whole, ensemble=Ensemble(8, 0, "dense"))
    assert found.covariance is whole
    for a, i in np.ndindex(3, 2):
        assert found.variance.mean[a, i] == values[a, a, i, i]
        assert found.variance.standard_error[a, i] == values[a, a, i, i] / 100
        np.testing.assert_allclose(found.standard_deviation.mean[a, i], np.sqrt(values[a, a, i, i]), rtol=1e-15)
    np.testing.assert_allclose(found.standard_deviation.standard_error, found.standard_deviation.mean / 200, rtol=1e-14)


def test_shortcuts_to_the_trajectory():
    found = _prediction(MEAN, loss=np.array([3.0, 1.0]), sample_covariance=ALONE)
    assert found.loss is found.trajectory.loss
    assert found.times is found.trajectory.times
    assert "3 test inputs, 2 outputs, gradient_descent, mse to time 1" in repr(found)


def test_the_covariance_has_some_form():
    with pytest.raises(ArgumentError, match="neither of its two forms"):
        _prediction(MEAN)


def test_theory_is_told_from_measurement():
    theory = _prediction(MEAN, sample_covariance=ALONE)
    assert as_prediction(theory) is theory
    measured = _prediction(MEAN, sample_covariance=ALONE, ensemble=Ensemble(8, 0, "dense"))
    with pytest.raises(DomainError, match="a measured prediction"):
        as_prediction(measured)
    with pytest.raises(ArgumentError, match="`prediction`: got int"):
        as_prediction(3)
