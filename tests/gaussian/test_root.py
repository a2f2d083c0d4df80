"""Roots of covariances."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from finitewidth.gaussian.root import covariance_root, pivoted_root, root_at_hand

root_of = jax.jit(pivoted_root)


def test_the_first_pivot_is_not_decided_by_rounding():
    """All diagonal entries of a correlation matrix are one: the first column is the first input's, whatever their scales."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = rng.standard_normal((5, 5)) * np.exp(rng.standard_normal((5, 1)))
        K = A @ A.T
        root = np.asarray(root_of(K))
        np.testing.assert_allclose(root @ root.T, K, rtol=1e-12)
        np.testing.assert_allclose(root[:, 0], K[:, 0] / np.sqrt(K[0, 0]), rtol=1e-12)


@pytest.mark.parametrize("correlation", [0.5, 0.99, 0.9999, 1 - 1e-7])
def test_no_pivot_is_decided_by_rounding(correlation):
    """After the first, all pivots of equally correlated inputs are equal, and small if the inputs nearly coincide: one unit in the
    last digit of any entry, as another machine may have it, changes the root by no more than such a unit is worth."""
    K, rng = (1 - correlation) * np.eye(5) + correlation, np.random.default_rng(0)
    root, ulp = np.asarray(root_of(K)), np.finfo(float).eps
    for _ in range(20):
        noise = np.triu(rng.integers(-1, 2, (5, 5)))
        disturbed = np.asarray(root_of(K + ulp * (noise + np.triu(noise, 1).T)))
        np.testing.assert_allclose(disturbed, root, rtol=0, atol=32 * ulp / np.sqrt(1 - correlation))


@pytest.mark.optimised
def test_pivots_are_looked_for_only_where_they_are_needed():
    """In a loop of no turns where Cholesky does, as the compiler sees that it does not know their number. Of 512 variables they take
    0.5 s, and Cholesky takes 0.003."""
    program = jax.jit(covariance_root).lower(jnp.eye(8)).compile().as_text()
    entry = program[program.index("\nENTRY") :].split("\n}")[0]
    assert entry.count(" while(") == 1
    assert "known_trip_count" not in program


@pytest.mark.parametrize("rank", [4, 2])
def test_roots_of_numbers_at_hand(rank):
    """The same roots, those of singular matrices and of inputs that are zero included."""
    A = np.random.default_rng(rank).standard_normal((4, rank))
    for K in (A @ A.T, np.pad(A @ A.T, ((0, 1), (0, 1)))):
        root = root_at_hand(K)
        np.testing.assert_allclose(root, jax.jit(covariance_root)(K), atol=1e-14)
        np.testing.assert_allclose(root @ root.T, K, atol=1e-13)
    assert np.count_nonzero(root.any(axis=0)) == rank
