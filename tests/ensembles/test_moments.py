"""Streaming moments agree with moments of the whole sample, and their errors are honest."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings, strategies as st

from finitewidth.ensembles import moments
from finitewidth.ensembles.moments import Moments, add, add_replicas, covariance, empty, mean_deviation


@jax.jit
def tally(samples, reference, counted):
    return add(empty(reference), samples, counted)


merge, about = map(jax.jit, (moments.merge, moments.about))


def assert_same(first, second, rtol=1e-11):
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * float(np.abs(b).max(initial=1e-3)))


def skewed(rng, count, P=3):
    return rng.gamma(2.0, size=(count, 2, P)) @ rng.normal(size=(P, P)) + 5.0


def test_mean_and_covariance_of_a_known_sample():
    """Against numpy's two-pass formulas, in two batch entries at once."""
    x = skewed(np.random.default_rng(0), 200)
    sums = tally(x, x[0], np.ones(200, dtype=bool))
    deviation, error = mean_deviation(sums)
    np.testing.assert_allclose(x[0] + deviation, x.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(error, x.std(axis=0, ddof=1) / np.sqrt(200), rtol=1e-11)
    for layer in range(2):
        np.testing.assert_allclose(covariance(sums)[0][layer], np.cov(x[:, layer].T), rtol=1e-11)


def test_nothing_cancels_about_a_near_reference():
    """A standard deviation of 1e-7 about a mean of one keeps ten digits; about zero it would keep two."""
    z = np.random.default_rng(1).normal(size=(500, 1, 2))
    x = 1.0 + np.round(z * 2**20) * 2.0**-44  # exactly representable deviations
    sums = tally(x, np.ones((1, 2)), np.ones(500, dtype=bool))
    np.testing.assert_allclose(covariance(sums)[0][0], np.cov((x[:, 0] - 1).T), rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.tuples(*[st.integers(0, 6)] * 3),
    shifts=st.tuples(*[st.floats(-2, 2)] * 3),
)
def test_merge_is_exact_and_associative(seed, sizes, shifts):
    """Parts about different references merge into the whole, in either order of merging."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(18, 2, 3))
    parts = np.split(np.arange(18), np.cumsum(sizes))[:3]
    a, b, c = (
        tally(x, np.full((2, 3), shift), np.isin(np.arange(18), part))
        for part, shift in zip(parts, shifts, strict=True)
    )
    whole = tally(x, np.full((2, 3), shifts[0]), np.arange(18) < sum(sizes))
    assert_same(merge(merge(a, b), c), whole)
    assert_same(merge(a, merge(b, c)), whole)
    assert_same(about(merge(c, merge(b, a)), a.reference), whole)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), counted=st.lists(st.booleans(), min_size=8, max_size=8).map(np.asarray))
def test_masked_samples_do_not_count(seed, counted):
    """Not even when they are NaN."""
    x = np.random.default_rng(seed).normal(size=(8, 1, 2))
    masked = np.where(counted[:, None, None], x, np.nan)
    sums, kept = tally(masked, np.zeros((1, 2)), counted), x[counted, 0]
    np.testing.assert_allclose(sums.count, counted.sum())
    np.testing.assert_allclose(sums.d[0], kept.sum(axis=0), atol=1e-13)
    np.testing.assert_allclose(sums.ddd[0], (kept**2).T @ kept, atol=1e-13)


def test_standard_errors_are_honest():
    """Over 2000 repetitions with skewed, correlated samples, deviations in standard errors have variance one."""
    M, repetitions = 1000, 2000
    mix = np.random.default_rng(5).normal(size=(3, 3))
    mean = np.exp(0.045) * np.ones((1, 3)) @ mix  # of log-normals with exponent 0.3
    truth = np.exp(0.09) * np.expm1(0.09) * mix.T @ mix

    def deviations(key):
        x = jnp.exp(0.3 * jax.random.normal(key, (M, 1, 3))) @ mix
        sums = add(empty(jnp.asarray(mean)), x, jnp.ones(M, dtype=bool))
        (deviation, mean_error), (cov, cov_error) = mean_deviation(sums), covariance(sums)
        return deviation / mean_error, (cov - truth) / cov_error, cov - truth

    of_mean, of_cov, raw = jax.jit(jax.vmap(deviations))(jax.random.split(jax.random.key(0), repetitions))
    tolerance = 4 * np.sqrt(2 / repetitions)  # of a variance over normal repetitions
    assert np.abs(np.var(of_mean, axis=0) - 1).max() < tolerance
    assert np.abs(np.var(of_cov, axis=0) - 1).max() < tolerance
    assert np.abs(np.mean(raw, axis=0) / np.std(raw, axis=0)).max() < 4 / np.sqrt(repetitions)  # unbiased


def test_error_of_a_normal_covariance():
    """Given the moments of normals themselves, Var(cov) = (1 + delta)/(M-1): the correction of order 1/M is there."""
    M, one = 12.0, jnp.eye(2)[None]
    normal = Moments(jnp.zeros((1, 2)), jnp.asarray(M), jnp.zeros((1, 2)), M * one, 0 * one, M * (1 + 2 * one), M * one)
    cov, error = covariance(normal)
    np.testing.assert_allclose(cov, one * M / (M - 1), rtol=1e-14)
    np.testing.assert_allclose(error**2, (1 + one) / (M - 1), rtol=1e-14)


def replicated(rng, count, replicas=3):
    """A common part that is correlated, and noise of each replica that is too."""
    mix, noise = rng.normal(size=(2, 3, 3))
    common = rng.gamma(2.0, size=(count, 1, 1, 3)) @ mix
    return common + rng.normal(size=(count, 1, replicas, 3)) @ noise, 2.0 * mix.T @ mix


def test_replicas_measure_the_covariance_of_what_they_share():
    """Without bias from their noise, in standard errors, whose honesty is seen over many runs."""
    x, expected = replicated(np.random.default_rng(3), 200 * 64)
    runs = jax.vmap(lambda x: covariance(add_replicas(empty(jnp.zeros((1, 3))), x, jnp.ones(64, bool))))
    found, error = map(np.asarray, runs(x.reshape(200, 64, *x.shape[1:])))
    deviation = found - expected
    assert np.abs(deviation.mean(axis=0) / deviation.std(axis=0) * np.sqrt(200)).max() < 4
    np.testing.assert_allclose((error**2).mean(axis=0), deviation.var(axis=0), rtol=0.4)


def test_replicas_about_any_reference():
    """Sums of replicas move to another reference exactly, and one replica is none at all."""
    x, _ = replicated(np.random.default_rng(4), 40)
    counted = np.arange(40) < 33
    near, far = (add_replicas(empty(jnp.full((1, 3), shift)), x, counted) for shift in (0.0, 1.5))
    assert_same(about(far, near.reference), near, rtol=1e-10)
    for a, b in zip(covariance(near), covariance(far), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
    assert_same(
        add_replicas(empty(jnp.zeros((1, 3))), x[:, :, :1], counted), tally(x[:, :, 0], jnp.zeros((1, 3)), counted)
    )
