"""Linear networks: laws known exactly, in the limit and at finite width."""

import math

import numpy as np
import pytest

import finitewidth as fw
from finitewidth.proportional.linear import (
    finite_log_determinant,
    log_determinant,
    log_norm,
    sample_finite_log_determinant,
    second_moments,
)


def test_laws_in_the_limit():
    """Norms: -T and 2T, unshaped ReLU -5T/2 and 5T. Determinants: -m(m+1)T/2 and 2mT."""
    assert log_norm(0.7) == (-0.7, 1.4)
    assert log_norm(2.0, asymmetry=1.0) == (-5.0, 10.0)
    assert log_determinant(4, 0.5) == (-5.0, 4.0)
    assert log_determinant(1, 0.7) == log_norm(0.7)


def test_second_moments():
    """E (V^12)^2 = 2.54234 at V_0^12 = 0.2, T = 1, and .27506, 1.0610 for the two pairs at T = 0.2."""
    V0 = np.array([[1.0, 0.2], [0.2, 1.0]])
    np.testing.assert_allclose(second_moments(V0, 1.0)[0, 1, 0, 1], 2.54234, atol=5e-6)
    early = second_moments(V0, 0.2)
    np.testing.assert_allclose([early[0, 1, 0, 1], early[0, 0, 1, 1]], [0.27506, 1.0610], atol=5e-5)
    np.testing.assert_allclose(second_moments(V0, 0.0), np.einsum("ab,cd->abcd", V0, V0))


def test_second_moments_obey_their_equation():
    r"""d E[V V]/dt = E[Sigma_lin], the closed linear equation of second moments, by differences."""
    X = np.random.default_rng(0).normal(size=(3, 4))
    h = 1e-5
    rate = (second_moments(X @ X.T, 0.3 + h) - second_moments(X @ X.T, 0.3 - h)) / (2 * h)
    M = np.asarray(second_moments(X @ X.T, 0.3))
    np.testing.assert_allclose(rate, M.transpose(0, 2, 1, 3) + M.transpose(0, 2, 3, 1), rtol=1e-8)


def test_finite_width_tends_to_the_limit():
    """Width n and depth Tn: mean and variance approach the limit as 1/n."""
    limit = np.array(log_determinant(3, 0.5))
    errors = [np.array(finite_log_determinant(3, n, n // 2)) / limit - 1 for n in (200, 400)]
    np.testing.assert_allclose(errors[0] / errors[1], 2.0, rtol=0.02)
    assert np.abs(errors[1]).max() < 0.01


def test_samples_of_finite_networks():
    """Sums of log chi^2 against their digamma and trigamma moments, in standard errors."""
    samples = sample_finite_log_determinant(2, 20, 10, networks=20_000, seed=1)
    mean, variance = finite_log_determinant(2, 20, 10)
    assert abs(samples.mean() - mean) < 4 * math.sqrt(variance / 20_000)
    fourth = np.mean((samples - samples.mean()) ** 4)
    assert abs(samples.var() - variance) < 4 * math.sqrt((fourth - variance**2) / 20_000)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: log_norm(-1.0), "depth_to_width"),
        (lambda: log_norm(1.0, asymmetry=2.0), "asymmetry"),
        (lambda: finite_log_determinant(5, 4, 10), "width"),
        (lambda: second_moments(-np.eye(2), 1.0), "V0"),
    ],
)
def test_bad_input(call, argument):
    """The argument is named in the error."""
    with pytest.raises(fw.ArgumentError, match=f"`{argument}`"):
        call()
