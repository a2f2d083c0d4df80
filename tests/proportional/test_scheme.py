"""What the integrators share."""

import jax
import numpy as np
import pytest

from finitewidth.proportional.scheme import normal_matrices


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_normal_matrices_are_those_of_jax(dtype):
    """A seed means the paths that it meant when JAX made them."""
    key = jax.random.key(3)
    np.testing.assert_array_equal(
        jax.jit(lambda k: normal_matrices(k, 3, 4, np.dtype(dtype)))(key),
        jax.jit(lambda k: jax.random.normal(k, (3, 4, 4), dtype))(key),
    )
