"""Weights that learn, lazily: they are one matrix, whatever they are asked, and it has its law."""

import numpy as np

from drawn_networks import completed
from finitewidth.learning.training.matrices import DenseMatrix, LazyMatrix

RANDOM = np.random.default_rng(1)
SHAPE, COUNT = (40, 30), 3


class Echo(LazyMatrix):
    """Its fresh noise is what a given matrix answers: then it must be that matrix."""

    def _fresh(self, asked, length):
        matrix = self.matrix if length == len(self.matrix) else self.matrix.T
        return np.asarray(asked.new)[: asked.added] @ matrix.T


def questions(steps):
    """Right and left, of changing numbers, some of which repeat, others nearly."""
    u, v = (RANDOM.normal(size=(COUNT, n)) for n in reversed(SHAPE))
    for step in range(steps):
        yield u + 0.3**step * RANDOM.normal(size=u.shape), v + 0.1**step * RANDOM.normal(size=v.shape)


def test_noise_that_comes_from_a_matrix_gives_that_matrix():
    """The answer along a new direction is what is known of it from the other side, and nothing of that twice."""
    lazy = Echo(RANDOM, SHAPE, 1.0)
    lazy.matrix = RANDOM.normal(size=SHAPE)
    for u, v in questions(8):
        np.testing.assert_allclose(lazy.times(u)[0], u @ lazy.matrix.T, atol=1e-11)
        np.testing.assert_allclose(lazy.transpose_times(v)[0], v @ lazy.matrix, atol=1e-11)


def test_a_learning_matrix_is_one_matrix():
    """Steps between questions, in which questions of different age take part: the same as on all entries."""
    lazy = LazyMatrix(np.random.default_rng(3), SHAPE, 0.5)
    log, first = [], None
    for u, v in questions(8):
        right, asked_right = lazy.times(u)
        left, asked_left = lazy.transpose_times(v)
        lazy.descend(0.2, asked_left, asked_right)
        first = asked_right if first is None else first
        lazy.descend(0.1, asked_left, first)
        log.append((u, v, right, left))
    matrix = completed(lazy, np.random.default_rng(4))
    for u, v, right, left in log:
        np.testing.assert_allclose(right, u @ matrix.T, atol=1e-11)
        np.testing.assert_allclose(left, v @ matrix, atol=1e-11)
        matrix = matrix - 0.2 * v.T @ u - 0.1 * v.T @ log[0][0]


def test_stored_and_lazy_answer_alike():
    """From the same entries."""
    lazy = LazyMatrix(np.random.default_rng(5), SHAPE, 0.5)
    asked = list(questions(4))
    found = []
    for u, v in asked:
        (right, of_right), (left, of_left) = lazy.times(u), lazy.transpose_times(v)
        lazy.descend(0.3, of_left, of_right)
        found.append((right, left))
    dense = DenseMatrix(RANDOM, SHAPE, 1.0)
    dense.entries = completed(lazy, np.random.default_rng(6)) + np.zeros(SHAPE)
    for (u, v), (right, left) in zip(asked, found, strict=True):
        (stored_right, of_right), (stored_left, of_left) = dense.times(u), dense.transpose_times(v)
        dense.descend(0.3, of_left, of_right)
        np.testing.assert_allclose(stored_right, right, atol=1e-11)
        np.testing.assert_allclose(stored_left, left, atol=1e-11)


def test_entries_have_their_law():
    """Questions that depend on answers: the completed matrix has independent entries of the variance given, in standard errors."""
    draws, entries = 300, []
    for number in range(draws):
        random = np.random.default_rng([7, number])
        lazy = LazyMatrix(random, (3, 2), 0.25)
        u = np.asarray([[1.0, 0.5]])
        for _ in range(2):
            v = np.tanh(np.asarray(lazy.times(u)[0])) + 0.1
            u = np.tanh(np.asarray(lazy.transpose_times(v)[0])) + 0.1
        entries.append(completed(lazy, random).ravel())
    entries = np.asarray(entries)
    np.testing.assert_array_less(np.abs(entries.mean(axis=0)), 4 * 0.5 / np.sqrt(draws))
    second = entries.T @ entries / draws
    error = 0.25 * np.sqrt((1 + np.eye(6)) / draws)
    np.testing.assert_array_less(np.abs(second - 0.25 * np.eye(6)), 4 * error)
