"""Normals have the normal law, to the accuracy that the transform claims."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from finitewidth.ensembles.normals import _box_muller, standard_normals


def test_transform_is_box_muller_of_the_words_bits():
    """Radius from the upper 40 bits, angle from the lower 24, to rounding; PDLT (1.9)."""
    words = np.random.default_rng(0).integers(0, 2**64, size=20_000, dtype=np.uint64)
    words = np.concatenate([words, np.asarray([0, 2**64 - 1, 2**24 - 1, 2**24, 2**22, 2**23], np.uint64)])
    u = ((words >> np.uint64(24)).astype(float) + 0.5) / 2**40
    quarter = ((words >> np.uint64(22)) & np.uint64(3)).astype(float)
    angle = np.pi / 2 * (quarter + ((words & np.uint64(2**22 - 1)).astype(float) + 0.5) / 2**22 - 0.5)
    radius = np.sqrt(-2 * np.log(u))
    first, second = _box_muller(jnp.asarray(words))
    np.testing.assert_allclose(first, radius * np.cos(angle), rtol=0, atol=4e-15)
    np.testing.assert_allclose(second, radius * np.sin(angle), rtol=0, atol=4e-15)


@pytest.mark.parametrize("dtype", [jnp.float64, jnp.float32])
def test_law(dtype):
    """Kolmogorov-Smirnov distance, and moments to the eighth in standard errors, PDLT (1.15)."""
    z = np.asarray(standard_normals(jax.random.key(3), (1_000_001,), dtype))
    assert z.dtype == dtype
    assert stats.kstest(z[:200_000], "norm").pvalue > 1e-3
    for power, expected in ((1, 0), (2, 1), (3, 0), (4, 3), (6, 15), (8, 105)):
        samples = z.astype(float) ** power
        assert abs(samples.mean() - expected) < 4 * samples.std() / np.sqrt(z.size)


def test_the_two_normals_of_one_word_are_independent():
    """Mixed moments of a pair factorise."""
    first, second = np.asarray(standard_normals(jax.random.key(5), (2, 500_000)))
    for p, q in ((1, 1), (2, 2), (1, 3), (4, 2), (3, 3)):
        product = (first**p - np.mean(first**p)) * (second**q - np.mean(second**q))
        assert abs(product.mean()) < 4 * product.std() / np.sqrt(product.size)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (3, 5)])
def test_any_shape(shape):
    """Odd and empty sizes too."""
    assert standard_normals(jax.random.key(0), shape).shape == shape
