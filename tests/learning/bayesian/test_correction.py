"""The terms of the correction against explicit sums over indices, on numbers without any symmetry but those of a vertex."""

import itertools

import numpy as np
import pytest

from finitewidth.learning.bayesian import correction

A, D, OUTPUTS = 2, 4, 3  # two training and two test samples


@pytest.fixture(scope="module")
def made_up():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(D, D, 5))
    half = half + half.transpose(1, 0, 2)
    root = rng.normal(size=(A, A + 1))
    inverse, u, g1 = root @ root.T, rng.normal(size=(A, OUTPUTS)), rng.normal(size=(D, D))
    return {
        "P": rng.normal(size=(2, D)),
        "g1": g1 + g1.T,
        "v": np.einsum("abk,cdk->abcd", half, half),
        "u": u,
        "S": u @ u.T - OUTPUTS * inverse,
        "inverse": inverse,
    }


def test_mean(made_up):
    P, g1, v, u, S, inverse = made_up.values()
    expected = np.zeros((2, OUTPUTS))
    for x, i, d in itertools.product(range(2), range(OUTPUTS), range(D)):
        bracket = sum(g1[d, a] * u[a, i] for a in range(A))
        for a, b, c in itertools.product(range(A), repeat=3):
            bracket += (v[d, c, a, b] * S[a, b] / 2 - v[d, a, b, c] * inverse[a, b]) * u[c, i]
        expected[x, i] += P[x, d] * bracket
    np.testing.assert_allclose(correction.mean_correction(P, g1, v, u, S, inverse), expected, rtol=1e-12)


def test_covariance(made_up):
    P, g1, v, _, S, inverse = made_up.values()
    expected = np.zeros((2, 2))
    for x, y, d, e in itertools.product(range(2), range(2), range(D), range(D)):
        bracket = g1[d, e]
        for a, b in itertools.product(range(A), repeat=2):
            bracket += v[d, e, a, b] * S[a, b] / 2 - v[d, a, e, b] * inverse[a, b]
        expected[x, y] += P[x, d] * P[y, e] * bracket
    np.testing.assert_allclose(correction.covariance_correction(P, g1, v, S, inverse), expected, rtol=1e-12)


def test_wiring(made_up):
    """PDLT (6.89): output i goes with the first sample, j with the second."""
    P, _, v, u, *_ = made_up.values()
    expected = np.zeros((2, 2, OUTPUTS, OUTPUTS))
    for x, y, i, j in itertools.product(range(2), range(2), range(OUTPUTS), range(OUTPUTS)):
        for d, e, a, b in itertools.product(range(D), range(D), range(A), range(A)):
            expected[x, y, i, j] += P[x, d] * P[y, e] * v[d, a, e, b] * u[a, i] * u[b, j]
    assert np.abs(expected - expected.swapaxes(2, 3)).max() > 0.1
    np.testing.assert_allclose(correction.wiring(P, v, u), expected, rtol=1e-11, atol=1e-11)


def test_size_bounds_the_correction_of_the_evidence(made_up):
    """The terms of size are those of the correction: it is never larger than their sum, and equal where they have one sign."""
    _, g1, v, u, S, inverse = made_up.values()
    g1, v, K = g1[:A, :A], v[:A, :A, :A, :A], np.linalg.inv(inverse)
    size = correction.size_of_correction(g1, v, S, inverse, OUTPUTS)
    found = correction.evidence_correction(K, g1, v, K @ u)
    exchange = sum(v[a, b, c, d] * inverse[b, d] * S[a, c] for a, b, c, d in itertools.product(range(A), repeat=4))
    closed = sum(v[a, b, c, d] * inverse[b, d] * inverse[a, c] for a, b, c, d in itertools.product(range(A), repeat=4))
    terms = np.array([(g1 * S).sum() / 2, np.einsum("abcd,ab,cd->", v, S, S) / 8, -exchange / 2, -OUTPUTS * closed / 4])
    np.testing.assert_allclose(found, terms.sum(), rtol=1e-10)
    np.testing.assert_allclose(size, np.abs(terms).sum(), rtol=1e-10)
