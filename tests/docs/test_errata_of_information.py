"""Errata of PDLT appendix A, without this library."""

import math

import numpy as np
import pytest
from numpy.polynomial.hermite import hermgauss
from numpy.polynomial.legendre import leggauss


def entropy(neurons, log_variance):
    """Of neurons that share one log-normal variance of mean one, in nats, by quadrature over radius and variance."""
    nodes, weights = hermgauss(80)
    variance = np.exp(math.sqrt(2 * log_variance) * nodes - log_variance / 2)
    x, w = leggauss(400)
    end = 12 * math.exp(1.5 * math.sqrt(log_variance))
    radius, measure = end * (x + 1) / 2, end * w / 2
    shells = 2 * math.pi ** (neurons / 2) / math.gamma(neurons / 2) * radius ** (neurons - 1) * measure
    gaussians = np.exp(-(radius[:, None] ** 2) / (2 * variance)) / (2 * math.pi * variance) ** (neurons / 2)
    density = gaussians @ weights / math.sqrt(math.pi)
    assert shells @ density == pytest.approx(1, abs=1e-10)
    return -float(shells @ (density * np.log(density)))


def information(log_variance):
    """Of one neuron and another."""
    return 2 * entropy(1, log_variance) - entropy(2, log_variance)


def test_information_of_neurons_has_no_maximum():
    """PDLT (A.71)-(A.72): at fixed depth over width the metric of scale-invariant networks is log-normal with log-variance nu r. What two
    neurons tell of one another grows with it, through the printed optimum at 4/26, where it is twice what is printed."""
    printed = 4 / 26
    values = [information(s) for s in (printed, 0.5, 1.0)]
    np.testing.assert_allclose(values, [0.0020, 0.0131, 0.034], rtol=0.03)
    assert printed**2 / 8 - 26 / 48 * printed**3 == pytest.approx(0.0010, rel=0.03)


def test_third_order_of_the_information_of_neurons():
    """PDLT (A.71): in powers of nu r the third coefficient is -(14 + 3 m_1 + 3 m_2)/48 for one neuron and another, not -(20 + ...)/48."""
    s = np.array([0.01, 0.02])
    third = [(information(each) - each**2 / 8) / each**3 for each in s]
    at_zero = 2 * third[0] - third[1]
    assert at_zero == pytest.approx(-20 / 48, rel=0.02)
    assert at_zero != pytest.approx(-26 / 48, rel=0.2)


def test_convex_functions_and_jensen():
    """PDLT (A.9)-(A.10): convex functions lie below their chords; with the sign printed, Jensen's inequality would be reversed."""
    random = np.random.default_rng(0)
    a, share = random.normal(size=(2, 1000)), random.uniform(size=1000)
    for convex in (np.square, np.exp, np.abs):
        below = convex(share * a[0] + (1 - share) * a[1]) - share * convex(a[0]) - (1 - share) * convex(a[1])
        assert below.max() < 1e-12
        assert below.min() < -0.1
        assert np.mean(convex(a[0])) > convex(np.mean(a[0]))


def test_entropies_of_independent_observables_add():
    """PDLT (A.8): equality for independent bits, which the sign printed excludes; less for dependent ones."""

    def entropy_of(p):
        return -float(np.sum(p[p > 0] * np.log(p[p > 0])))

    independent, mirrored = np.full((2, 2), 0.25), np.diag([0.5, 0.5])
    for joint, expected in ((independent, 2 * math.log(2)), (mirrored, math.log(2))):
        assert entropy_of(joint) == pytest.approx(expected, rel=1e-14)
        assert sum(entropy_of(joint.sum(axis=axis)) for axis in (0, 1)) == pytest.approx(2 * math.log(2), rel=1e-14)
