"""Moments and cumulants against explicit set partitions, laws known in closed form, and samples."""

import itertools
import math

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from finitewidth._errors import DomainError, ShapeError
from finitewidth.gaussian.cumulants import (
    connected_from_even_moments,
    connected_from_moments,
    excess_kurtosis,
    moments_from_connected,
    sample_cumulants,
)
from finitewidth.gaussian.wick import wick_moment


def set_partitions(n):
    """All partitions of 0..n-1 into blocks."""
    if n == 0:
        yield ()
        return
    for partition in set_partitions(n - 1):
        yield (*partition, (n - 1,))
        for i, block in enumerate(partition):
            yield (*partition[:i], (*block, n - 1), *partition[i + 1 :])


def weighted_moments(points, weights, order):
    """Moment tensors of orders 1..order of a discrete law."""
    letters = "abcdef"
    spec = [
        ",".join(["i", *("i" + letter for letter in letters[:k])]) + "->" + letters[:k] for k in range(1, order + 1)
    ]
    return [np.einsum(s, weights, *[points] * (k + 1)) for k, s in enumerate(spec)]


def discrete_law(seed, variables=2, atoms=7):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(atoms, variables)), rng.dirichlet(np.ones(atoms))


def test_connected_correlators_are_the_sum_over_partitions():
    """PDLT (1.52)-(1.56): the recursion against all 203 partitions of six variables, odd orders and a mean included."""
    assert [sum(1 for _ in set_partitions(n)) for n in range(7)] == [1, 1, 2, 5, 15, 52, 203]
    moments = weighted_moments(*discrete_law(0), order=6)
    connected = connected_from_moments(moments)
    for order in range(1, 7):
        expected = np.zeros((2,) * order)
        for index, partition in itertools.product(np.ndindex(expected.shape), set_partitions(order)):
            blocks = [moments[len(block) - 1][tuple(index[i] for i in block)] for block in partition]
            expected[index] += (-1) ** (len(blocks) - 1) * math.factorial(len(blocks) - 1) * math.prod(blocks)
        np.testing.assert_allclose(connected[order - 1], expected, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(1, 6), (3, 4)]))
def test_the_two_directions_are_inverse(seed, size):
    """PDLT (1.56)."""
    variables, order = size
    moments = weighted_moments(*discrete_law(seed, variables), order=order)
    back = moments_from_connected(connected_from_moments(moments))
    for once, twice in zip(moments, back, strict=True):
        np.testing.assert_allclose(once, twice, rtol=1e-10, atol=1e-10)


def test_a_gaussian_has_no_connected_correlator_beyond_the_second():
    """PDLT (1.45), PDLT (1.56): its mean and covariance, then Wick's theorem and back."""
    K = np.array([[1.0, 0.3], [0.3, 0.5]])
    mean = np.array([0.4, -1.1])
    moments = moments_from_connected([mean, K, *(np.zeros((2,) * k) for k in (3, 4, 5, 6))])
    centred = moments_from_connected([0 * mean, K, *(np.zeros((2,) * k) for k in (3, 4, 5, 6))])
    np.testing.assert_allclose(moments[1], K + np.outer(mean, mean), rtol=1e-14)
    for order in (2, 4, 6):
        wick = [wick_moment(K, index) for index in np.ndindex((2,) * order)]
        np.testing.assert_allclose(np.ravel(centred[order - 1]), wick, rtol=1e-13)
    for order, tensor in enumerate(connected_from_moments(moments)[2:], start=3):
        np.testing.assert_allclose(tensor, np.zeros((2,) * order), atol=1e-12)


def test_even_connected_correlators_of_a_mixture_of_variances():
    """PDLT (1.54), PDLT (1.61): for z^2 = s u^2 they are 3 Var s and 15 times the third cumulant of s."""
    s, p = np.array([0.5, 1.0, 2.5]), np.array([0.3, 0.5, 0.2])
    even = [math.prod(range(1, 2 * m, 2)) * (p @ s**m) for m in (1, 2, 3)]
    second, fourth, sixth = connected_from_even_moments(
        [np.full((1,) * (2 * m), moment) for m, moment in enumerate(even, start=1)]
    )
    np.testing.assert_allclose(second.item(), p @ s, rtol=1e-15)
    np.testing.assert_allclose(fourth.item(), 3 * (p @ (s - p @ s) ** 2), rtol=1e-13)
    np.testing.assert_allclose(sixth.item(), 15 * (p @ (s - p @ s) ** 3), rtol=1e-13)
    np.testing.assert_allclose(excess_kurtosis(second, fourth), [fourth.item() / second.item() ** 2], rtol=1e-14)


def test_even_connected_correlators_as_printed():
    """PDLT (1.54), PDLT (1.61): term by term for a parity-symmetric law of two variables."""
    points, weights = discrete_law(3)
    points, weights = np.concatenate([points, -points]), np.concatenate([weights, weights]) / 2
    E2, E4, E6 = weighted_moments(points, weights, 6)[1::2]
    _, fourth, sixth = connected_from_even_moments([E2, E4, E6])
    for i, j, k, m in np.ndindex(2, 2, 2, 2):
        expected = E4[i, j, k, m] - E2[i, j] * E2[k, m] - E2[i, k] * E2[j, m] - E2[i, m] * E2[j, k]
        np.testing.assert_allclose(fourth[i, j, k, m], expected, atol=1e-13)
    index = (0, 1, 1, 0, 1, 1)
    pairs = list(itertools.combinations(range(6), 2))
    four_two = 0.0
    for pair in pairs:
        rest = tuple(index[i] for i in range(6) if i not in pair)
        four_two += E4[rest] * E2[index[pair[0]], index[pair[1]]]
    expected = E6[index] - four_two + 2 * wick_moment(E2, index)
    np.testing.assert_allclose(sixth[index], expected, atol=1e-12)


def test_sample_cumulants_are_those_of_the_empirical_law():
    """PDLT (1.52)-(1.56): equal weights on the draws, to all orders up to five."""
    draws = np.random.default_rng(1).exponential(size=(50, 2)) @ np.array([[1.0, 0.4], [0.0, 1.0]])
    exact = connected_from_moments(weighted_moments(draws, np.full(50, 1 / 50), 5))
    for estimate, tensor in zip(sample_cumulants(draws, 5), exact, strict=True):
        np.testing.assert_allclose(estimate, tensor, rtol=1e-9, atol=1e-9)


def test_sample_cumulants_do_not_lose_digits_to_a_large_mean():
    """PDLT (1.52)-(1.56): invariance under a shift 1e6 times the spread."""
    draws = np.random.default_rng(2).exponential(size=(1000, 2))
    for once, shifted in zip(sample_cumulants(draws, 4)[1:], sample_cumulants(draws + 1e6, 4)[1:], strict=True):
        np.testing.assert_allclose(once, shifted, rtol=1e-6, atol=1e-7)


def test_sample_cumulants_of_the_exponential_law():
    """PDLT (1.52)-(1.56): the k-th cumulant is (k-1)!, within four standard errors read from independent batches."""
    draws = np.random.default_rng(4).exponential(size=(40, 10_000, 1))
    batches = np.array([[c.item() for c in sample_cumulants(batch, 4)] for batch in draws])
    error = batches.std(axis=0, ddof=1) / math.sqrt(len(batches))
    assert (np.abs(batches.mean(axis=0) - [1, 1, 2, 6]) < 4 * error).all()


def test_excess_kurtosis_of_known_laws():
    """PDLT (1.54): -2 for a fair coin, -6/5 for the uniform law (a midpoint rule), 0 for a Gaussian."""
    uniform = (np.arange(20_000) + 0.5) / 10_000 - 1
    coin = np.resize([1.0, -1.0], 20_000)
    _, second, _, fourth = sample_cumulants(np.stack([coin, uniform], axis=1), 4)
    np.testing.assert_allclose(excess_kurtosis(second, fourth), [-2.0, -1.2], rtol=1e-6)


def test_conversion_composes_with_jit_and_grad():
    """PDLT (1.54): the derivative of the fourth cumulant by the variance is -6 E[z^2]."""
    gradient = jax.jit(jax.grad(lambda E2: connected_from_even_moments([E2, np.full((1,) * 4, 2.0)])[1].sum()))
    np.testing.assert_allclose(gradient(np.array([[0.8]])), [[-4.8]], rtol=1e-14)


@pytest.mark.parametrize(
    ("call", "error", "argument"),
    [
        (lambda: connected_from_moments([np.zeros(2), np.zeros((2, 3))]), ShapeError, "moments[1]"),
        (lambda: connected_from_moments([1.0]), ShapeError, "moments[0]"),
        (lambda: moments_from_connected([np.zeros(2), np.zeros(2)]), ShapeError, "connected[1]"),
        (lambda: moments_from_connected([[np.inf]]), DomainError, "connected[0]"),
        (lambda: connected_from_even_moments([np.zeros(2)]), ShapeError, "even_moments[0]"),
        (lambda: sample_cumulants(np.zeros(5), 2), ShapeError, "samples"),
        (lambda: sample_cumulants(np.zeros((0, 2)), 2), ShapeError, "samples"),
        (lambda: sample_cumulants(np.zeros((5, 2)), 0), DomainError, "order"),
        (lambda: excess_kurtosis(np.zeros((1, 1)), np.zeros((1,) * 4)), DomainError, "two_point"),
        (lambda: excess_kurtosis(np.eye(2), np.zeros((2, 2))), ShapeError, "connected_four_point"),
    ],
)
def test_bad_input_names_the_argument(call, error, argument):
    with pytest.raises(error) as caught:
        call()
    assert caught.value.argument == argument
