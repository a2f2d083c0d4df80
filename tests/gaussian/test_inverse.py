"""The generalised inverse of covariances, regular and singular."""

import jax
import numpy as np
import pytest

from finitewidth.gaussian.inverse import generalised_inverse


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
