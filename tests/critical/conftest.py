"""Verdicts computed once, and Gaussian averages that share nothing with the library."""

import functools

import numpy as np
import pytest

from finitewidth.critical import criticality, single_input_flow


@pytest.fixture(scope="session")
def verdict():
    """`criticality`, remembered for the whole run."""
    return functools.cache(criticality)


@pytest.fixture(scope="session")
def long_flow():
    """`single_input_flow`, remembered: some tests look at the same forty thousand layers."""
    return functools.cache(single_input_flow)


def _average(function, K, kinks=()):
    """Composite Gauss-Legendre in z over 13 deviations, panels refined around zero and around kinks."""
    reach = 13 * np.sqrt(K)
    fine = np.sinh(np.linspace(-np.arcsinh(reach), np.arcsinh(reach), 121))
    edges = np.unique(np.concatenate([fine, [kink for kink in kinks if abs(kink) < reach]]))
    x, w = np.polynomial.legendre.leggauss(24)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    z = middle[:, None] + half[:, None] * x
    return float(np.sum(half[:, None] * w * np.exp(-(z**2) / (2 * K)) / np.sqrt(2 * np.pi * K) * function(z)))


@pytest.fixture(scope="session")
def average():
    """`average(function, K, kinks)` of a NumPy function."""
    return _average
