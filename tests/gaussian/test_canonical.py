"""Canonical variables: roots, turns and correlations that make the covariance again, however close to singular it is."""

import jax
import numpy as np
import pytest

from finitewidth.gaussian.canonical import canonical_variables

GROUPS = [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3)]
turned = jax.jit(canonical_variables, static_argnums=1)


def covariance_again(K, m):
    """The covariance that the canonical variables stand for, relative to the deviations."""
    left, r, right = (np.asarray(part) for part in turned(K, m))
    assert np.all((r >= 0) & (r <= 1))
    assert np.all(np.diff(r) <= 1e-15)
    across = left[:, : len(r)] * r @ right.T
    deviations = np.sqrt(np.diag(K))
    scale = np.where(deviations > 0, deviations, 1.0)
    again = np.block([[left @ left.T, across], [across.T, right @ right.T]])
    return np.abs((again - K) / np.outer(scale, scale)).max()


@pytest.mark.parametrize(("m", "k"), GROUPS)
@pytest.mark.parametrize("rank", [1, 2, 6])
def test_they_make_the_covariance(m, k, rank):
    random = np.random.default_rng(10 * m + k)
    for _ in range(20):
        X = random.normal(size=(m + k, rank))
        assert covariance_again(X @ X.T, m) < 2e-14


@pytest.mark.parametrize(("m", "k"), GROUPS)
def test_variables_of_all_sizes_and_none(m, k):
    random = np.random.default_rng(10 * m + k)
    X = random.normal(size=(m + k, m + k)) * 10.0 ** random.uniform(-6, 6, size=(m + k, 1))
    assert covariance_again(X @ X.T, m) < 2e-14
    X[0] = 0
    assert covariance_again(X @ X.T, m) < 2e-14


@pytest.mark.parametrize(("m", "k"), [(2, 1), (2, 2), (3, 2), (3, 3)])
@pytest.mark.parametrize("distance", [1e-5, 1e-6, 1e-7, 3e-8, 1e-8])
def test_nearly_dependent_variables(m, k, distance):
    """What tells two variables apart is all rounding, and must not pass for a correlation larger than one."""
    random = np.random.default_rng(10 * m + k)
    for _ in range(50):
        X = random.normal(size=(m + k, m + k))
        X[1] = X[0] + distance * X[1]
        assert covariance_again(X @ X.T, m) < 2e-14


@pytest.mark.parametrize(("m", "k"), [(2, 2), (3, 3)])
def test_correlations_are_singular_values(m, k):
    random = np.random.default_rng(0)
    X = random.normal(size=(m + k, 9))
    K = X @ X.T
    left, right = (np.linalg.inv(np.linalg.cholesky(part)) for part in (K[:m, :m], K[m:, m:]))
    expected = np.linalg.svd(left @ K[:m, m:] @ right.T)[1]
    np.testing.assert_allclose(turned(K, m)[1], expected, atol=1e-14)


@pytest.mark.parametrize(
    "M", [[[0, 0], [0, 0]], [[1, 0], [0, 1]], [[0, -1], [1, 0]], [[0.6, 0], [0, -0.6]], [[0, 0.3], [0.3, 0]]]
)
def test_turns_that_are_not_unique(M):
    """Independent groups, and groups whose two correlations are the same."""
    M = np.asarray(M, float)
    assert covariance_again(np.block([[np.eye(2), M], [M.T, np.eye(2)]]), 2) < 2e-14
