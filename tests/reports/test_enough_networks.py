"""How many networks a mean needs, known before any is drawn, and what a comparison makes of too few."""

import warnings

import numpy as np
import pytest
from scipy import integrate, stats

import finitewidth as fw
from finitewidth.reports.comparison.enough_networks import effective, needed_for_mean, needed_for_variance
from finitewidth.reports.comparison.verdict import Verdict


def skewness(of, law):
    """By quadrature over the normal variable behind a log-normal one."""
    normal = np.linspace(-14, 14, 20001)
    y, weight = of(law(normal)), stats.norm.pdf(normal)
    mean = integrate.trapezoid(y * weight, normal)
    variance, third = (integrate.trapezoid((y - mean) ** p * weight, normal) for p in (2, 3))
    return third / variance**1.5


@pytest.mark.parametrize("v", [0.003, 0.1, 0.6])
def test_skewness_of_log_normal_kernels(v):
    sigma = np.sqrt(np.log1p(v))

    def law(u):
        return np.exp(sigma * u - sigma**2 / 2)

    assert needed_for_mean(np.array([v])) == pytest.approx(10 * (1 + skewness(lambda x: x, law) ** 2), rel=1e-9)
    of_square = skewness(lambda x: (x - 1) ** 2, law)
    assert needed_for_variance(np.array([v])) == pytest.approx(10 * (1 + of_square**2), rel=1e-6)


def test_small_fluctuations_are_normal():
    """Ninety networks for a variance, as the square of a normal number needs, and nothing cancels."""
    assert needed_for_variance(np.array([0.0, 1e-9, 0.99e-4])) == pytest.approx([90, 90, 90])
    assert needed_for_variance(np.array([1.01e-4])) == pytest.approx(90, rel=0.02)


def test_networks_behind_an_entry_by_theory():
    """Ten where there are as many as are needed, in proportion to those drawn; all of them where nothing fluctuates. A relative variance of
    a half to first order is sqrt e - 1, as layers multiply."""
    v = np.array([0.5, 0.5, 0.0, np.inf, np.nan])
    names = np.array(["G", "V", "V", "G", "V"])
    mean, variance = (float(needed(np.expm1(v[:1]))[0]) for needed in (needed_for_mean, needed_for_variance))
    assert mean < variance
    assert effective(names, v, 1000) == pytest.approx([1e4 / mean, 1e4 / variance, 1000, 0, 0])


def test_few_networks_do_not_refute_theory():
    """Tanh, width 30, twenty layers: of runs with a hundred networks half were called a disagreement, as networks that make V large are
    not among a hundred. Now hardly one is."""
    net, x = fw.MLP("tanh", (4, *[30] * 19, 1), C_W=1.0), np.array([[1.0, 0.5, -1.0, 1.0], [-0.3, 1.0, 0.2, 0.7]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fw.ValidityWarning)
        theory = fw.flow(net, x)
        found = [fw.compare(theory, fw.simulate(net, x, networks=100, seed=seed)) for seed in range(10)]
    assert sum(each.verdict is Verdict.DISAGREE for each in found) <= 1
    assert all(each.trustworthy[each.quantity == "G"].any() for each in found)


def test_populations_are_believed_by_their_own_count():
    """They draw rare networks on purpose: ReLU, width 8, whose relative variance passes one in the third layer."""
    net, x = fw.MLP("relu", (2, *[8] * 3, 1), C_W=2.0), np.array([[1.0, 0.5]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fw.ValidityWarning)
        theory = fw.flow(net, x)
        found = fw.compare(theory, fw.simulate(net, x, networks=4000, method="population"))
    assert found.trustworthy[(found.layer >= 3) & (found.quantity == "V")].any()
