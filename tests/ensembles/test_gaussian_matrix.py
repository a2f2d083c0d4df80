"""A lazy Gaussian matrix is one fixed matrix, and a Gaussian one."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from finitewidth.ensembles import DenseGaussian, LazyGaussian

ROWS, COLUMNS, VARIANCE = 5, 7, 0.3
SIDES = "times", "transpose_times", "times", "transpose_times"


@jax.jit
def converse(key, questions):
    """Answers to questions from alternating sides, and the whole matrix, asked for at last."""
    matrix = LazyGaussian(key, (ROWS, COLUMNS), VARIANCE)
    answers = []
    for side, question in zip(SIDES, questions, strict=True):
        answer, matrix = getattr(matrix, side)(question)
        answers.append(answer)
    return answers, matrix.times(jnp.eye(COLUMNS))[0].T


@st.composite
def conversations(draw):
    """Pairs of vectors from alternating sides, each new, or made of those asked before, or vanishing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    asked = {"times": [], "transpose_times": []}
    for side in SIDES:
        for _ in range(2):
            new = rng.normal(size=COLUMNS if side == "times" else ROWS)
            old = asked[side] or [new]
            choices = {
                "new": new,
                "again": old[-1],
                "combined": sum(rng.normal() * u for u in old),
                "nearly again": old[-1] + 1e-9 * np.abs(old[-1]).max() * new,
                "zero": 0 * new,
                "tiny": 1e-30 * new,
                "huge": 1e30 * new,
            }
            asked[side].append(choices[draw(st.sampled_from(list(choices)))])
    right, left = (np.asarray(asked[side]) for side in SIDES[:2])
    return [right[:2], left[:2], right[2:], left[2:]]


@settings(max_examples=200, deadline=None)
@given(questions=conversations(), seed=st.integers(0, 2**31))
def test_all_answers_come_from_one_matrix(questions, seed):
    """Whatever was asked, one matrix W gives every answer, and its transpose those from the left."""
    answers, W = converse(jax.random.key(seed), questions)
    for side, question, answer in zip(SIDES, questions, answers, strict=True):
        expected = question @ (W.T if side == "times" else W)
        scale = np.linalg.norm(question, axis=1, keepdims=True) * np.linalg.norm(W)
        assert (np.abs(answer - expected) <= 1e-12 * scale).all()


@pytest.mark.parametrize("kind", [DenseGaussian, LazyGaussian])
def test_linear_and_adjoint(kind):
    """W(u1 + u2) = W u1 + W u2, the same answer twice, and v.(W u) = (W^T v).u, asked separately."""
    rng = np.random.default_rng(1)
    u, v = jnp.asarray(rng.normal(size=(2, 10_000))), jnp.asarray(rng.normal(size=(2, 300)))
    matrix = kind(jax.random.key(0), (300, 10_000), 1 / 10_000)
    first, matrix = matrix.times(u)
    left, matrix = matrix.transpose_times(v)
    total, matrix = matrix.times(jnp.stack([u[0] + u[1], u[0]]))
    np.testing.assert_allclose(total, jnp.stack([first[0] + first[1], first[0]]), atol=1e-13)
    np.testing.assert_allclose(first @ v.T, u @ left.T, atol=1e-11)


def adaptive_draw(key):
    """A whole matrix, revealed by questions each of which depends on the answer before."""
    matrix = LazyGaussian(key, (ROWS, COLUMNS), jnp.asarray(VARIANCE))
    y, matrix = matrix.times(jnp.ones((1, COLUMNS)))
    x, matrix = matrix.transpose_times(jnp.tanh(y))
    y, matrix = matrix.times(jnp.concatenate([x, jnp.abs(x)]))
    return matrix.times(jnp.eye(COLUMNS))[0].T


def test_law_after_adaptive_questions():
    """Entries are independent N(0, variance): distribution, covariance of all pairs, fourth-order independence."""
    M = 20_000
    W = np.asarray(jax.jit(jax.vmap(adaptive_draw))(jax.random.split(jax.random.key(2), M))).reshape(M, -1)
    W = W / np.sqrt(VARIANCE)
    size = W.shape[1]
    pvalues = [stats.kstest(W[:, i], "norm").pvalue for i in range(size)]
    assert min(pvalues) > 1e-2 / size
    covariance = W.T @ W / M - np.eye(size)
    errors = np.sqrt((1 + np.eye(size)) / M)
    assert np.abs(covariance / errors).max() < 5
    squares = W**2 - 1
    correlation = squares.T @ squares / M / 2
    assert np.abs((correlation - np.diag(np.diagonal(correlation))) * np.sqrt(M)).max() < 5.5
    assert stats.kstest((W**2).sum(axis=1), stats.chi2(size).cdf).pvalue > 1e-3


@pytest.mark.measured
def test_a_bilinear_form_has_the_same_law_stored_or_lazy():
    """v.(W u) with v = tanh(W u'), two-sample Kolmogorov-Smirnov with a Bonferroni bound over seeds."""

    def statistic(kind, key):
        matrix = kind(key, (30, 40), jnp.asarray(1 / 40))
        y, matrix = matrix.times(jnp.sin(jnp.arange(40.0))[None])
        x, matrix = matrix.transpose_times(jnp.tanh(y))
        z, matrix = matrix.times(jnp.tanh(x))
        return jnp.stack([(z @ y.T)[0, 0], jnp.linalg.norm(x), jnp.linalg.norm(z), z[0, 3]])

    kinds = DenseGaussian, LazyGaussian
    sample = [jax.jit(jax.vmap(partial(statistic, kind))) for kind in kinds]
    pvalues = []
    for seed in range(3):
        keys = jax.random.split(jax.random.key(seed), (2, 3000))
        dense, lazy = (np.asarray(run(k)) for run, k in zip(sample, keys, strict=True))
        pvalues += [stats.ks_2samp(dense[:, i], lazy[:, i]).pvalue for i in range(4)]
    assert min(pvalues) > 1e-2 / len(pvalues)


def test_memory_is_what_was_asked():
    """A million by a million, one question a side: four vectors and no more."""

    def ask(key, u):
        _, matrix = LazyGaussian(key, (10**6, 10**6), 1e-6).times(u)
        return matrix.transpose_times(u)[1]

    matrix = jax.eval_shape(ask, jax.random.key(0), jnp.ones((1, 10**6)))
    assert sum(leaf.size for leaf in jax.tree.leaves(matrix)) == 4 * 10**6 + 2  # and the key and the variance


@pytest.mark.measured
def test_single_precision_is_kept():
    """The dtype of the variance rules; answers stay consistent to single precision."""
    matrix = LazyGaussian(jax.random.key(0), (200, 100), jnp.float32(0.01))
    u = jax.random.normal(jax.random.key(1), (2, 100), jnp.float32)
    first, matrix = matrix.times(u)
    again, matrix = matrix.times(u)
    assert first.dtype == again.dtype == jnp.float32
    np.testing.assert_allclose(first, again, atol=1e-5)
