"""The action form of a posterior, and blocks of an inverse."""

import numpy as np
import pytest

import finitewidth as fw
from finitewidth import learning
from finitewidth._errors import DomainError

X = np.array([[1.0, 0.3, -0.5], [-0.4, 1.2, 0.2], [0.5, 0.6, 0.8]])
Y = np.array([[1.2, 0.4], [-0.7, 0.9]])


def network(width):
    return fw.MLP("tanh", (3, width, width, 2), C_b=0.1, C_W=1.5)


def test_action_form_tends_to_the_expanded_form():
    """PDLT (6.79)-(6.89): its mean to printed digits; the difference to the expanded form falls as 1/n^2, and is large at n = 32."""
    limit = fw.bayes(network(10), X[:2], Y, X[2:], order=0)
    printed = {1000: (0.0641, 0.1935), 10_000: (0.0775, 0.1647), 100_000: (0.0788, 0.1618)}
    differences = []
    for n, expected in printed.items():
        mean, covariance = learning.action_form(network(n), X[:2], Y, X[2:])
        np.testing.assert_allclose(n * (mean - limit.mean)[0], expected, atol=6e-5)
        expanded = fw.bayes(network(n), X[:2], Y, X[2:])
        differences.append([np.abs(mean - expanded.mean).max(), np.abs(covariance - expanded.covariance).max()])
    falls = np.log10(np.array(differences[:-1]) / np.array(differences[1:]))
    np.testing.assert_allclose(falls, 2.0, atol=0.05)
    narrow, _ = learning.action_form(network(32), X[:2], Y, X[2:])
    np.testing.assert_allclose(32 * (narrow - limit.mean)[0, 0], -0.39, atol=0.01)  # where the expanded form has 0.079


def test_networks_too_narrow_for_an_action():
    with pytest.raises(DomainError, match=r"`net`: got hidden widths \(4, 4\), for which the action's Gaussian part"):
        learning.action_form(network(4), X[:2], Y, X[2:])


def test_blocks_of_the_inverse():
    """PDLT (6.53)-(6.58) against NumPy's inverse of the whole."""
    root = np.random.default_rng(0).normal(size=(5, 7))
    K = root @ root.T
    whole = np.linalg.inv(K)
    aa, ab, bb = learning.blocks_of_inverse(K, 3)
    np.testing.assert_allclose(aa, whole[:3, :3], rtol=1e-10)
    np.testing.assert_allclose(ab, whole[:3, 3:], rtol=1e-10)
    np.testing.assert_allclose(bb, whole[3:, 3:], rtol=1e-10)
    with pytest.raises(DomainError, match="`train`: got 5"):
        learning.blocks_of_inverse(K, 5)
