"""Digits of corrections: what a nearly singular training kernel leaves of them is measured, said, and saved where finer grids can."""

import dataclasses
import warnings

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.expansion import differential_flow
from finitewidth.learning.digits import TOLERANCE, difference, rounded_anew
from finitewidth.learning.end_of_training.finite_prediction import said

V = np.linspace(-1, 1, 8)
SHIFT = -3.8066e-4
"""Of the mean at V = 0.65: grids of 101 and 121 points for each variable, and inputs turned by any angle, agree on it to six digits."""


def on_a_line(angle):
    """Eight inputs on a line, whose tangent kernel has a condition number of 27,000, and a ninth between them."""
    net = fw.MLP("tanh", (2, 2000, 2000, 1), C_b=0.3, C_W=1.4)
    along = np.sqrt(2) * np.array([[np.cos(angle), np.sin(angle)]])
    return fw.predict(net, V[:, None] * along, np.sin(2 * V), 0.65 * along, order=1)


def test_grids_are_as_fine_as_can_be_paid_for():
    """Eight and a few are averaged to rounding; beyond a minute's work coarse grids must do, and this is known."""
    tanh = fw.MLP("tanh", (2, 8, 1)).activation
    assert differential_flow.tensors_known_to(tanh, 1.0, 16) == 1e-13
    assert differential_flow.tensors_known_to(tanh, 1.0, 48) == 1e-7
    assert differential_flow.tensors_known_to(tanh, 4.0, 16) == 1e-13
    assert differential_flow.tensors_known_to(tanh, 4.0, 24) == 1e-7


@pytest.mark.measured
@pytest.mark.parametrize("angle", [0.0, 0.3])
def test_smooth_data_on_a_line(angle):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = on_a_line(angle)
    assert found.trust.holds
    assert found.trust.error < 1e-4
    assert (found.mean - found.mean_limit).item() == pytest.approx(SHIFT, rel=2e-5)
    assert found.mean_dntk.item() == pytest.approx(2.5183e-6, rel=1e-4)


def test_coarse_grids_are_found_out(monkeypatch):
    """On grids that must do where samples are very many the shift is wrong by half of itself: that is seen, and said."""
    monkeypatch.setattr(differential_flow, "_MOST_WORK", 0.0)
    with pytest.warns(fw.ValidityWarning, match="lost their digits"):
        found = on_a_line(0.0)
    wrong = abs((found.mean - found.mean_limit).item() / SHIFT - 1)
    assert wrong > TOLERANCE
    assert found.trust.error > wrong / 3
    assert found.trust.small_parameter < 0.3
    assert not found.trust.holds


def near_copies(activation, apart):
    net = fw.MLP(activation, (2, 1000, 1000, 1), C_b=0.1, C_W=1.5 if activation == "tanh" else 1.0)
    return fw.predict(net, [[1.0, 0.5], [1.0 + apart, 0.5]], [0.7, 0.7 + apart], [[0.3, -1.0]], order=1)


@pytest.mark.parametrize(("activation", "lost_at", "known"), [("tanh", 1e-4, 9.496e-4), ("softplus", 1e-3, -1.572e-5)])
def test_near_copies_without_noise(activation, lost_at, known):
    """As two inputs merge, with targets of one slope, the shift has a limit, which is nearly reached at a hundredth: there are digits left;
    closer, its error is what `trust` says, to a factor."""
    near = near_copies(activation, 1e-2)
    with pytest.warns(fw.ValidityWarning) as told:
        lost = near_copies(activation, lost_at)
    limit, shift = ((each.mean - each.mean_limit).item() for each in (near, lost))
    assert limit == pytest.approx(known, rel=1e-2)
    assert near.trust.holds
    assert not lost.trust.holds
    assert abs(1 - limit / shift) > 10 * TOLERANCE
    assert abs(1 - limit / shift) / 5 < lost.trust.error <= 1
    message = str(told[0].message)
    assert "lost their digits" in message
    assert "samples 0 and 1 are duplicates or nearly so" in message
    assert "Take widths" not in message


def believed(activation, apart, noise=0.0):
    net = fw.MLP(activation, (2, 1000, 1000, 1), C_b=0.1, C_W=1.5 if activation == "tanh" else 1.0)
    data = [[1.0, 0.5], [1.0 + apart, 0.5]], [0.7, 0.7], [[0.3, -1.0]], noise
    found, limit = fw.bayes(net, *data), fw.bayes(net, *data, order=0)
    return found, (found.mean - limit.mean).item(), float(found.log_evidence - limit.log_evidence)


@pytest.mark.parametrize(("activation", "known"), [("tanh", (1.238e-4, 2.161e-3)), ("softplus", (1.493e-4, 4.184e-3))])
def test_beliefs_of_near_copies_without_noise(activation, known):
    """As two inputs merge corrections of mean and evidence have a limit, which is reached at a hundredth: closer they lose it, and say so,
    also where the kernel needs a jitter."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near, *figures = believed(activation, 1e-2)
        noisy, *regular = believed(activation, 1e-7, noise=0.01)
    np.testing.assert_allclose(figures, known, rtol=1e-3)
    assert near.error < TOLERANCE
    assert noisy.error == 0
    assert np.abs(regular).max() < 1e-2
    for apart in (1e-4, 1e-7):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            lost, *wrong = believed(activation, apart)
        assert lost.error > 10 * TOLERANCE
        assert np.abs(np.divide(wrong, known) - 1).max() > TOLERANCE
        words = [str(each.message) for each in told]
        assert sum("lost their digits" in each and "Give `noise` > 0" in each for each in words) == 1
        assert not any("use wider networks" in each for each in words)


def at_a_training_input():
    net = fw.MLP("tanh", (2, 1000, 1000, 1), C_b=0.1, C_W=1.5)
    x = np.array([[1.0, 0.5], [0.3, -1.0], [0.9, 0.6]])
    return fw.predict(net, x[:2], [0.7, 0.2], x[1:], order=1)


def test_a_training_input_among_test_inputs():
    """Its variance is zero, and rounding of it is no news; nor is what is left of a shift of zero."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = at_a_training_input()
    assert abs(found.variance[0, 0]) < 1e-14
    assert found.standard_deviation[0, 0] < 1e-7
    np.testing.assert_allclose(found.mean[0], [0.2], rtol=1e-12)


def test_variances_that_are_negative_beyond_rounding_are_said():
    """With the one reason that there is: the small parameter is small, and no widths are advised that follow from it."""
    found = at_a_training_input()
    own = np.asarray(found.sample_covariance)

    def told(variance):
        changed = dataclasses.replace(found, sample_covariance=own + np.diag([variance, 0.0]))
        said(changed, np.ones(2), np.eye(2))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told(-1e-10)
    with pytest.warns(fw.ValidityWarning, match="makes 1 variances negative") as words:
        told(-1e-8)
    assert "0.3 is the most" not in str(words[0].message)


def test_the_difference_of_figures():
    one, other = np.array([3.0, 4.0]), np.array([3.0, 4.5])
    assert difference({"a": (one, 1.0)}, {"a": (other, 1.0)}) == pytest.approx(0.1)
    assert difference({"a": (one, 1.0)}, {"a": (-9 * one, 1.0)}) == 1
    assert difference({"a": (0 * one, 1.0)}, {"a": (0 * one + 1e-15, 1.0)}) < 1e-5
    assert difference({"a": (one, 1.0), "b": (one, 1.0)}, {"a": (one, 1.0), "b": (other, 1.0)}) == pytest.approx(0.1)


def test_inputs_are_the_same_but_for_rounding():
    x = np.random.default_rng(1).normal(size=(6, 2))
    again, order = rounded_anew(x, 4)
    assert sorted(order) == [0, 1, 2, 3]
    assert list(order) != [0, 1, 2, 3]
    np.testing.assert_allclose(again, np.concatenate([x[:4][order], x[4:]]), rtol=1e-15)
    assert (again[4:] != x[4:]).any()
