"""The generalised inverse of covariances, regular and singular."""

import jax
import numpy as np
import pytest

from finitewidth.gaussian.inverse import generalised_inverse, regression


@pytest.mark.parametrize(("size", "rank"), [(1, 1), (1, 0), (3, 3), (4, 2), (5, 1)])
def test_it_solves_what_can_be_solved(size, rank):
    rng = np.random.default_rng(size + rank)
    factor = rng.normal(size=(size, rank)) * np.geomspace(1e-3, 1e3, size)[:, None]
    K = factor @ factor.T
    inverse, found = jax.jit(generalised_inverse)(K)
    assert found == rank
    scale = np.sqrt(np.outer(np.diag(K), np.diag(K))) + 1e-300
    np.testing.assert_allclose(K @ inverse @ K / scale, K / scale, atol=1e-9)
    np.testing.assert_allclose(inverse, inverse.T, rtol=1e-12)
    if rank == size:
        np.testing.assert_allclose(inverse * scale, np.linalg.inv(K) * scale, rtol=1e-7)


def test_regression():
    """Two variables on three, of which one copies another."""
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(5, 4)) * np.array([[1e-3], [1.0], [50.0], [1.0], [2.0]])
    factor[3] = -2 * factor[1]
    K, given = factor @ factor.T, np.array([3, 0, 1])
    found = regression(K, given)
    G, H = K[np.ix_(given, given)], K[given]
    assert found.rank == 2
    np.testing.assert_allclose(G @ found.inverse @ G, G, atol=1e-9)
    np.testing.assert_allclose(G @ found.coefficients, H, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.left, K - H.T @ np.linalg.pinv(G, rcond=1e-14) @ H, rtol=1e-7, atol=1e-9)


def test_regression_on_variables_that_are_nearly_the_same():
    """What is left keeps its digits: here 1e-10 after a variable that repeats another but for 1e-10."""
    factor = np.array([[1.0, 0, 0], [1.0, 1e-5, 0], [1.0, 2e-5, 1e-5]])
    left = regression(factor @ factor.T, np.array([0, 1])).left
    np.testing.assert_allclose(left[2, 2], 1e-10, rtol=1e-4)
