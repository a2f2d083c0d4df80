"""The kernel Markov chain against laws known exactly."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from finitewidth.activations import ACTIVATIONS
from finitewidth.ensembles.chain import covariance_root, metric_chain, rows_per_block
from hypothesis import given, settings, strategies as st
from scipy import special, stats


def sample_chain(activation, K1, widths, count, seed=0, C_b=0.0, C_W=1.0, block=16):
    """Metrics (count, layers, N, N) of independent chains."""
    layers = len(widths)
    C_b, C_W = jnp.broadcast_to(C_b, layers) * 1.0, jnp.broadcast_to(C_W, layers) * 1.0
    run = partial(metric_chain, activation=ACTIVATIONS[activation], block=block)
    first, widths = jnp.asarray(K1, dtype=float), jnp.asarray(widths)
    one = jax.jit(jax.vmap(lambda key: run(key, first, hidden_widths=widths, C_b=C_b, C_W=C_W)))
    return np.asarray(one(jax.random.split(jax.random.key(seed), count)))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    samples=st.integers(1, 6),
    rank=st.integers(0, 6),
    scales=st.tuples(st.floats(-8, 8), st.floats(0, 8)),
)
def test_root_of_any_covariance(seed, samples, rank, scales):
    """R R^T = K for every rank, zero included, and for samples of very different sizes, relative to the diagonal."""
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** (scales[0] + scales[1] * rng.uniform(-1, 1, size=samples))
    X = sizes[:, None] * rng.normal(size=(samples, rank))
    K = X @ X.T
    R = np.asarray(covariance_root(jnp.asarray(K)))
    deviations = np.sqrt(np.diagonal(K))
    assert (np.abs(R @ R.T - K) <= 1e-13 * np.outer(deviations, deviations)).all()


def test_root_keeps_small_correlated_directions():
    """Two inputs that differ by 1e-7 times a third: without pivoting that correlation would be lost."""
    X = np.asarray([[1.0, 0.0], [1.0, 3e-8], [0.0, 1.0]])
    R = np.asarray(covariance_root(jnp.asarray(X @ X.T)))
    difference = R[1] - R[0]
    np.testing.assert_allclose(difference @ R[2], 3e-8, rtol=1e-6)


def test_duplicated_inputs_stay_duplicated():
    """Every entry of the metric of three identical inputs is the same number, to rounding."""
    metrics = sample_chain("gelu", np.full((3, 3), 0.7), (20, 30, 20), 50, C_b=0.1, C_W=1.5)
    np.testing.assert_allclose(metrics, np.broadcast_to(metrics[..., :1, :1], metrics.shape), rtol=1e-13)


def test_chi_squared_law_of_the_second_layer():
    """One input, linear: the metric is chi^2_n/n times the kernel, whatever the block size; PDLT (3.25)."""
    for width, block in ((7, 16), (16, 16), (50, 32)):
        metrics = sample_chain("linear", [[0.8]], (width,), 20_000, seed=width, C_W=1.3, block=block)
        assert stats.kstest(metrics[:, 0, 0, 0] * width / (0.8 * 1.3), stats.chi2(width).cdf).pvalue > 1e-3


def test_log_law_of_a_deep_linear_network():
    r"""ln G of a product of chi^2's: mean $\sum[\psi(n/2) - \ln(n/2)]$, variance $\sum\psi_1(n/2)$; PDLT (3.47), (3.55)."""
    widths = (5, 9, 20, 33, 5, 64)
    logs = np.log(sample_chain("linear", [[1.0]], widths, 40_000)[:, -1, 0, 0])
    half = np.asarray(widths) / 2
    mean, variance = (special.psi(half) - np.log(half)).sum(), special.polygamma(1, half).sum()
    fourth = special.polygamma(3, half).sum() + 3 * variance**2
    assert abs(logs.mean() - mean) < 4 * np.sqrt(variance / logs.size)
    assert abs(logs.var() - variance) < 4 * np.sqrt((fourth - variance**2) / logs.size)


@pytest.mark.parametrize(("activation", "excess"), [("linear", 2), ("relu", 5), ("abs", 2)])
def test_second_moment_of_scale_invariant_networks(activation, excess):
    r"""$E[\hat G^2] = K^2\prod(1 + (3A_4/A_2^2 - 1)/n)$ at any width, mean exactly $K$; PDLT (3.25), (5.114)."""
    widths = np.asarray([12, 30, 17])
    A2 = {"linear": 1.0, "relu": 0.5, "abs": 1.0}[activation]
    metrics = sample_chain(activation, [[0.6]], tuple(widths), 60_000, C_W=1 / A2)[:, :, 0, 0] / 0.6
    expected = np.cumprod(1 + excess / widths)
    squares = metrics**2
    errors = squares.std(axis=0) / np.sqrt(len(squares))
    assert (np.abs(metrics.mean(axis=0) - 1) < 4 * metrics.std(axis=0) / np.sqrt(len(metrics))).all()
    assert (np.abs(squares.mean(axis=0) - expected) < 4 * errors).all()


def test_many_samples_take_the_other_route():
    """Nine inputs use matrix products: the mean metric of a linear network is the kernel, PDLT (3.15)."""
    X = np.random.default_rng(3).normal(size=(9, 4))
    K = X @ X.T
    metrics = sample_chain("linear", K, (10, 14), 4000)
    errors = metrics.std(axis=0) / np.sqrt(len(metrics))
    assert (np.abs(metrics.mean(axis=0) - K) < 4.5 * errors).all()


@settings(max_examples=100, deadline=None)
@given(widths=st.lists(st.integers(1, 5000), min_size=1, max_size=6).map(tuple))
def test_blocks_do_not_waste_much(widths):
    """Idle rows stay below the overhead that larger blocks would save."""
    rows = rows_per_block(widths)
    drawn = sum(-(-width // rows) * rows for width in widths)
    assert drawn <= 2 * sum(widths) + 16 * len(widths)
