"""Roots of covariances."""

import jax
import numpy as np

from finitewidth.gaussian.root import pivoted_root

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
