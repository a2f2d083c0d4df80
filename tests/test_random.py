"""Keys of seeds: those that JAX makes, on every machine."""

import jax
import numpy as np
import pytest

from finitewidth._random import key_of


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**32, 2**40 + 5, 2**63 - 1])
def test_keys_are_those_of_jax(seed):
    expected = jax.random.key(seed, impl="threefry2x32")
    np.testing.assert_array_equal(jax.random.key_data(key_of(seed)), jax.random.key_data(expected))
    np.testing.assert_array_equal(jax.random.normal(key_of(seed), (3,)), jax.random.normal(expected, (3,)))


def test_a_seed_means_the_same_whatever_kind_of_keys_the_user_prefers():
    before = jax.random.normal(key_of(3), (2,))
    with jax.default_prng_impl("rbg"):
        np.testing.assert_array_equal(jax.random.normal(key_of(3), (2,)), before)
