"""The kernel Markov chain against laws known exactly."""

from functools import partial

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import special, stats

from finitewidth.activations import ACTIVATIONS
from finitewidth.ensembles.chain import metric_chain
from finitewidth.ensembles.neurons import rows_per_block
from finitewidth.gaussian.root import pivoted_root
from finitewidth.networks import Layer

root = jax.jit(pivoted_root)


@partial(jax.jit, static_argnames="activation")
@partial(jax.vmap, in_axes=(0, None, None, None, None))
def run(key, activation, first, widths, layers):
    return metric_chain(key, first, activation, widths, layers, block=16)


def sample_chain(activation, K1, widths, count, seed=0, C_b=0.0, C_W=1.0):
    """Metrics (count, layers, N, N) of independent chains, sixteen neurons at a time."""
    C_b, C_W, zero = (np.full(len(widths), value) for value in (C_b, C_W, 0.0))
    layers = Layer(C_b, C_W, lambda_b=zero, lambda_W=zero, inverse_width=1 / np.asarray(widths))
    keys = jax.random.split(jax.random.key(seed), count)
    return np.asarray(run(keys, ACTIVATIONS[activation], np.asarray(K1, dtype=float), np.asarray(widths), layers))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    samples=st.sampled_from([1, 3, 6]),
    rank=st.integers(0, 6),
    scales=st.tuples(st.floats(-8, 8), st.floats(0, 8)),
)
def test_root_of_any_covariance(seed, samples, rank, scales):
    """R R^T = K for every rank, zero included, and for samples of very different sizes, relative to the diagonal."""
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** (scales[0] + scales[1] * rng.uniform(-1, 1, size=samples))
    X = sizes[:, None] * rng.normal(size=(samples, rank))
    K = X @ X.T
    R = np.asarray(root(K))
    deviations = np.sqrt(np.diagonal(K))
    assert (np.abs(R @ R.T - K) <= 1e-13 * np.outer(deviations, deviations)).all()


def test_root_keeps_small_correlated_directions():
    """Two inputs that differ by 1e-7 times a third: without pivoting that correlation would be lost."""
    X = np.asarray([[1.0, 0.0], [1.0, 3e-8], [0.0, 1.0]])
    R = np.asarray(root(X @ X.T))
    difference = R[1] - R[0]
    np.testing.assert_allclose(difference @ R[2], 3e-8, rtol=1e-6)


def test_duplicated_inputs_stay_duplicated():
    """Every entry of the metric of three identical inputs is the same number, to rounding."""
    metrics = sample_chain("gelu", np.full((3, 3), 0.7), (20, 30, 20), 50, C_b=0.1, C_W=1.5)
    np.testing.assert_allclose(metrics, np.broadcast_to(metrics[..., :1, :1], metrics.shape), rtol=1e-13)


@pytest.mark.parametrize("width", [7, 16, 50])
def test_chi_squared_law_of_the_second_layer(width):
    """One input, linear: the metric is chi^2_n/n times the kernel, for widths around the block size; PDLT (3.25)."""
    metrics = sample_chain("linear", [[0.8]], (width, 20, 9), 40_000, seed=width, C_W=1.3)
    assert stats.kstest(metrics[:, 0, 0, 0] * width / (0.8 * 1.3), stats.chi2(width).cdf).pvalue > 1e-3


def test_log_law_of_a_deep_linear_network():
    r"""ln of a product of chi^2's: mean $\sum[\psi(n/2) - \ln(n/2)]$, variance $\sum\psi_1(n/2)$; PDLT (3.47)."""
    widths = (5, 33, 9)
    logs = np.log(sample_chain("linear", [[1.0]], widths, 40_000)[:, -1, 0, 0])
    half = np.asarray(widths) / 2
    mean, variance = (special.psi(half) - np.log(half)).sum(), special.polygamma(1, half).sum()
    fourth = special.polygamma(3, half).sum() + 3 * variance**2
    assert abs(logs.mean() - mean) < 4 * np.sqrt(variance / logs.size)
    assert abs(logs.var() - variance) < 4 * np.sqrt((fourth - variance**2) / logs.size)


@pytest.mark.parametrize(("activation", "A2", "excess"), [("linear", 1.0, 2), ("relu", 0.5, 5)])
def test_second_moment_of_scale_invariant_networks(activation, A2, excess):
    r"""$E[\hat G^2] = K^2\prod(1 + (3A_4/A_2^2 - 1)/n)$ at any width, mean exactly $K$; PDLT (3.25), PDLT (5.114)."""
    widths = np.asarray([12, 30, 17])
    metrics = sample_chain(activation, [[0.6]], widths, 40_000, C_W=1 / A2)[:, :, 0, 0] / 0.6
    squares = metrics**2
    assert (np.abs(metrics.mean(axis=0) - 1) < 4 * metrics.std(axis=0) / np.sqrt(len(metrics))).all()
    deviation = squares.mean(axis=0) - np.cumprod(1 + excess / widths)
    assert (np.abs(deviation) < 4 * squares.std(axis=0) / np.sqrt(len(squares))).all()


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
