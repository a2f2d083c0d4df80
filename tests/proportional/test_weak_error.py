"""Step-size advice: the weak error measured on shared paths, and the order of the default integrator."""

import math

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.networks.shaped import ShapedAttention, ShapedMLP, shaped_relu, shaped_smooth
from finitewidth.proportional import ScalarSmooth, step_advice

TANH = ShapedMLP(shaped_smooth("tanh", a=0.8))


def inverse(V):
    """1/V of one input: its mean is known."""
    return 1 / V[0, :1]


@pytest.mark.measured
def test_weak_order_is_one():
    """tanh, one input: E[1/X] is known, and the bias halves with the step; extrapolation removes it."""
    b, time = -2 / 0.64, 0.5
    exact = ScalarSmooth(b).mean_inverse(1.5, time)
    runs = [step_advice(TANH, [[1.5]], time, steps=n, paths=40_000, statistic=inverse) for n in (8, 16, 32)]
    biases = np.array([run.mean[0] - exact for run in runs])
    estimates = np.array([run.weak_error[0] for run in runs])
    uncertainties = np.array([run.weak_error_uncertainty[0] for run in runs])
    order = math.log2(estimates[0] / estimates[2]) / 2
    print(f"steps 8, 16, 32: biases {biases}, estimates {-estimates} +- {uncertainties}, order {order:.2f}")
    assert 0.8 < order < 1.4
    # The estimate at each step size is minus its bias, to next order and within the errors of both.
    for run, bias in zip(runs[1:], biases[1:], strict=True):
        assert abs(bias + run.weak_error[0]) < 0.4 * abs(run.weak_error[0]) + 4 * run.standard_error[0]
    assert abs(runs[2].extrapolated[0] - exact) < 4 * runs[2].standard_error[0] + 0.2 * abs(estimates[2])


def test_advice():
    """A strict tolerance asks for more steps, a lax one is content; both from the same numbers."""
    strict = step_advice(TANH, [[1.5]], 0.5, steps=3, paths=2000, tolerance=1e-4)
    lax = step_advice(TANH, [[1.5]], 0.5, steps=3, paths=2000, tolerance=0.5)
    assert strict.steps == 4  # even
    np.testing.assert_array_equal(strict.weak_error, lax.weak_error)
    assert lax.enough
    assert not strict.enough
    assert strict.suggested_steps > strict.steps > lax.suggested_steps
    np.testing.assert_allclose(strict.extrapolated, strict.mean + strict.weak_error)
    assert strict.mean.shape == (1,)


@pytest.mark.measured
def test_suggestions_stay_near_what_was_tried():
    """An error too small to be seen suggests a quarter of the steps, or those that keep covariances positive."""
    assert step_advice(TANH, [[1.5]], 0.5, steps=4, paths=2000, tolerance=1e3).suggested_steps == 1
    assert step_advice(TANH, [[1.5]], 0.5, steps=40, paths=2000, tolerance=1e3).suggested_steps == 10
    sharp = ShapedMLP(shaped_relu(4, -4))  # chi^2 = 16
    assert step_advice(sharp, [[1.0]], 0.5, steps=16, paths=2000, tolerance=1e3).suggested_steps == 8


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"method": "kernel-wishart"}, "method"),
        ({"steps": 0}, "steps"),
        ({"paths": 1}, "paths"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"statistic": 3}, "statistic"),
        ({"seed": 2**63}, "seed"),
        ({"block": ShapedMLP(shaped_relu(2, -2)), "steps": 2}, "steps"),
        ({"block": ShapedAttention(0.5), "depth_to_width": -1.0}, "depth_to_width"),
    ],
)
def test_bad_input(changes, argument):
    """The argument is named in the error; steps must be positive even when doubled."""
    arguments = {"block": TANH, "V0": [[1.0]], "depth_to_width": 0.5, "paths": 2000} | changes
    with pytest.raises(fw.ArgumentError, match=f"`{argument}`"):
        step_advice(**arguments)
