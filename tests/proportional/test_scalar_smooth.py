"""One input through smooth shaped networks: the exact solution and what follows from it."""

import math

import jax
import numpy as np
import pytest
from scipy import integrate

import finitewidth as fw
from finitewidth.networks.shaped import shaped_relu, shaped_smooth
from finitewidth.proportional import ScalarSmooth, scalar_smooth


@pytest.mark.parametrize(
    ("activation", "b"),
    [
        ("tanh", -2.0),
        ("sin", -1.0),
        ("sigmoid", -0.5),
        ("softplus", 3 / 16),
        ("expm1", 7 / 4),
        (lambda z: 2 * z * jax.nn.sigmoid(2 * z), 3.0),
        (lambda z: jax.numpy.tanh(z + math.atanh(0.4)), 9 * 0.16 - 2),
    ],
)
def test_strength_of_the_drift(activation, b):
    """Lecture 17: b = (3/4 phi_2^2 + phi_3)/a^2."""
    np.testing.assert_allclose(scalar_smooth(shaped_smooth(activation)).b, b, atol=1e-13)
    np.testing.assert_allclose(scalar_smooth(shaped_smooth(activation, a=2.0)).b, b / 4, atol=1e-13)


@pytest.mark.parametrize(("b", "x0", "expected"), [(1.0, 1.5, 0.44217), (0.5, 0.7, 0.12680), (2.0, 1.0, 0.32332)])
def test_blow_up_probability(b, x0, expected):
    """The incomplete gamma function, and the fraction of explicit paths whose denominator reaches zero."""
    law = ScalarSmooth(b)
    probability = law.blow_up_probability(x0)
    np.testing.assert_allclose(probability, expected, atol=5e-6)
    paths = law.sample(x0, 8.0, paths=5000, steps=800, seed=3)
    blown = np.isfinite(paths.blow_up_times)
    assert abs(blown.mean() - probability) < 4 * math.sqrt(probability * (1 - probability) / 5000)
    assert np.isinf(paths.X[blown, -1]).all()
    assert np.median(paths.X[~blown, -1]) < 1e-2
    assert not np.isnan(paths.X).any()


def test_no_blow_up_without_positive_drift():
    """b <= 0, b = 0 included, never blows up."""
    assert ScalarSmooth(0.0).blow_up_probability(10.0) == 0.0 == ScalarSmooth(-1.0).blow_up_probability(10.0)
    assert np.isinf(ScalarSmooth(0.0).sample(10.0, 2.0, paths=200).blow_up_times).all()


def test_stationary_law():
    """b = -4: a Gamma law of mean 3/4 and variance 0.1875, reached by explicit paths."""
    law = ScalarSmooth(-4.0).stationary()
    np.testing.assert_allclose([law.mean(), law.var()], [0.75, 0.1875], rtol=1e-13)
    X = ScalarSmooth(-4.0).sample(1.0, 3.0, paths=4000, steps=1200, seed=2).X[:, -1]
    assert abs(X.mean() - 0.75) < 4 * math.sqrt(0.1875 / 4000)
    assert abs(X.var() - 0.1875) < 4 * 0.1875 * math.sqrt((2 + 6 / 3) / 4000)  # excess kurtosis 6/shape


def test_mean_inverse():
    """tanh, a = 1, x_0 = 1.5, T = 1: E[1/X] = 8/3; other b from the same formula by explicit paths."""
    np.testing.assert_allclose(scalar_smooth(shaped_smooth("tanh")).mean_inverse(1.5, 1.0), 8 / 3, rtol=1e-14)
    law = ScalarSmooth(-3.0)
    inverse = 1 / law.sample(1.5, 1.0, paths=20_000, steps=200, seed=5).X[:, -1]
    assert abs(inverse.mean() - law.mean_inverse(1.5, 1.0)) < 4 * inverse.std() / math.sqrt(20_000)


@pytest.mark.parametrize("steps", [1, 400])
@pytest.mark.parametrize("b", [-50.0, -0.5, 0.0, 2.0])
def test_deep_paths_are_numbers(b, steps):
    """T = 20 and deeper, where E_t overflows: no NaN, and no blow-up unless b > 0."""
    for time in (20.0, 1e5):
        X = ScalarSmooth(b).sample(1.0, time, paths=50, steps=steps).X
        assert not np.isnan(X).any()
        assert (X >= 0).all()
        assert b > 0 or np.isfinite(X).all()


def test_stiff_paths_in_coarse_steps():
    """b = -50 in steps of 1/20, two and a half relaxation times: the mean of the stationary law, 0.98."""
    X = ScalarSmooth(-50.0).sample(1.0, 20.0, paths=4000, seed=1).X[:, -1]
    assert abs(X.mean() - 0.98) < 0.01


@pytest.mark.parametrize(("b", "x0"), [(-2.0, 1.5), (1.0, 0.5), (1.0, 1.5)])
def test_noiseless_equation(b, x0):
    """The logistic solution against a numerical integration, and its blow-up time."""
    law = ScalarSmooth(b)
    end = min(2.0, 0.95 * law.noiseless_blow_up_time(x0))
    numerical = integrate.solve_ivp(lambda t, x: b * x * (x - 1), (0, end), [x0], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(law.noiseless(x0, end), numerical.y[0, -1], rtol=1e-8)
    if b > 0 and x0 > 1:
        np.testing.assert_allclose(law.noiseless_blow_up_time(x0), math.log(3.0), rtol=1e-14)
        assert law.noiseless(x0, 1.2) == math.inf


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: ScalarSmooth(-1.0).stationary(), "b"),
        (lambda: ScalarSmooth(0.5).mean_inverse(1.0, 1.0), "b"),
        (lambda: ScalarSmooth(0.0).mean_inverse(1.0, 400.0), "t"),
        (lambda: ScalarSmooth(0.5).blow_up_probability(0.0), "x0"),
        (lambda: ScalarSmooth(0.5).sample(1.0, 0.0), "depth_to_width"),
        (lambda: scalar_smooth(shaped_relu()), "activation"),
    ],
)
def test_bad_input(call, argument):
    """The argument is named in the error."""
    with pytest.raises(fw.ArgumentError, match=f"`{argument}`"):
        call()
