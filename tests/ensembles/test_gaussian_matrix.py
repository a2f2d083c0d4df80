"""A lazy Gaussian matrix is one fixed matrix, and a Gaussian one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from finitewidth.ensembles import DenseGaussian, LazyGaussian
from hypothesis import given, settings, strategies as st
from scipy import stats

ROWS, COLUMNS, VARIANCE = 5, 7, 0.3


def whole(matrix):
    """All entries of a matrix, asked for at last."""
    return np.asarray(matrix.times(jnp.eye(COLUMNS))[0]).T


@st.composite
def conversations(draw):
    """Questions from either side, each a block of vectors that may repeat or combine earlier ones, or vanish."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    asked = {"times": [], "transpose_times": []}
    questions = []
    for _ in range(3):
        side = draw(st.sampled_from(["times", "transpose_times"]))
        block = []
        for _ in range(2):
            manner = draw(st.sampled_from(["new", "again", "combined", "zero", "tiny", "huge", "nearly again"]))
            new = rng.normal(size=COLUMNS if side == "times" else ROWS)
            old = asked[side] or [new]
            vector = {
                "new": new,
                "again": old[-1],
                "combined": sum(rng.normal() * u for u in old),
                "zero": 0 * new,
                "tiny": 1e-30 * new,
                "huge": 1e30 * new,
                "nearly again": old[-1] + 1e-9 * np.abs(old[-1]).max() * new,
            }[manner]
            asked[side].append(vector)
            block.append(vector)
        questions.append((side, np.asarray(block)))
    return questions


@settings(max_examples=60, deadline=None)
@given(questions=conversations(), seed=st.integers(0, 2**31))
def test_all_answers_come_from_one_matrix(questions, seed):
    """Whatever was asked in whatever order, one matrix W gives every answer, and its transpose those from the left."""
    matrix = LazyGaussian(jax.random.key(seed), (ROWS, COLUMNS), VARIANCE)
    answers = []
    for side, block in questions:
        answer, matrix = getattr(matrix, side)(jnp.asarray(block))
        answers.append(np.asarray(answer))
    W = whole(matrix)
    for (side, block), answer in zip(questions, answers, strict=True):
        expected = block @ (W.T if side == "times" else W)
        scale = np.linalg.norm(block, axis=1, keepdims=True) * np.linalg.norm(W)
        assert (np.abs(answer - expected) <= 1e-12 * scale).all()


@pytest.mark.parametrize("kind", [DenseGaussian, LazyGaussian])
def test_linear_and_adjoint(kind):
    """W(u1 + u2) = W u1 + W u2, the same answer twice, and v.(W u) = (W^T v).u, in separate questions at width 10,000."""
    keys = jax.random.split(jax.random.key(1), 4)
    matrix = kind(keys[0], (300, 10_000), 1 / 10_000)
    u = jax.random.normal(keys[1], (2, 10_000))
    v = jax.random.normal(keys[2], (3, 300))
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
    x, matrix = matrix.transpose_times(y**2)
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


def test_a_bilinear_form_has_the_same_law_stored_or_lazy():
    """v.(W u) with v = tanh(W u'), two-sample Kolmogorov-Smirnov with a Bonferroni bound over seeds."""

    def statistic(kind, key):
        matrix = kind(key, (30, 40), jnp.asarray(1 / 40))
        y, matrix = matrix.times(jnp.sin(jnp.arange(40.0))[None])
        x, matrix = matrix.transpose_times(jnp.tanh(y))
        z, matrix = matrix.times(jnp.tanh(x))
        return jnp.stack([(z @ y.T)[0, 0], jnp.linalg.norm(x), jnp.linalg.norm(z), z[0, 3]])

    pvalues = []
    for seed in range(3):
        keys = jax.random.split(jax.random.key(seed), (2, 3000))
        dense, lazy = (
            np.asarray(jax.jit(jax.vmap(lambda key, kind=kind: statistic(kind, key)))(k))
            for kind, k in zip((DenseGaussian, LazyGaussian), keys, strict=True)
        )
        pvalues += [stats.ks_2samp(dense[:, i], lazy[:, i]).pvalue for i in range(4)]
    assert min(pvalues) > 1e-2 / len(pvalues)


def test_memory_is_what_was_asked():
    """A million by a million, three questions a side: twelve vectors and no more."""
    matrix = LazyGaussian(jax.random.key(0), (10**6, 10**6), 1e-6)
    _, matrix = matrix.times(jnp.ones((1, 10**6)))
    _, matrix = matrix.transpose_times(jnp.ones((1, 10**6)))
    assert sum(leaf.size for leaf in (matrix.right, matrix.right_images, matrix.left, matrix.left_images)) == 4 * 10**6


def test_single_precision_is_kept():
    """The dtype of the variance rules; answers stay consistent to single precision."""
    matrix = LazyGaussian(jax.random.key(0), (200, 100), jnp.float32(0.01))
    u = jax.random.normal(jax.random.key(1), (2, 100), jnp.float32)
    first, matrix = matrix.times(u)
    again, matrix = matrix.times(u)
    assert first.dtype == again.dtype == jnp.float32
    np.testing.assert_allclose(first, again, atol=1e-5)
