"""A basis that grows: it spans what it is asked for, and stays orthonormal to rounding whatever that is."""

import numpy as np
import pytest

from finitewidth._errors import BlowUpError
from finitewidth.learning.training.growing_basis import GrowingBasis

RANDOM = np.random.default_rng(0)
SIZE, COUNT = 150, 4


def slowly_moving(steps):
    """Vectors that move by less and less: what training asks. Later ones leave the span of earlier ones by less than rounding."""
    start, drift = RANDOM.normal(size=(2, COUNT, SIZE))
    for step in range(steps):
        yield start + 0.1 * np.tanh(drift * (1 - 0.5**step))


def test_coordinates_give_the_vectors_back_and_rows_stay_orthonormal():
    basis, asked = GrowingBasis(SIZE), []
    for vectors in slowly_moving(30):
        asked.append((vectors, basis.extend(vectors).coordinates))
    rows = np.asarray(basis.rows)
    assert 30 < len(rows) < 30 * COUNT  # some were new, some repeated
    np.testing.assert_allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-14)
    for vectors, coordinates in asked:
        np.testing.assert_allclose(coordinates @ rows[: coordinates.shape[1]], vectors, atol=1e-12)


def test_new_rows_are_handed_out_as_they_join():
    basis = GrowingBasis(SIZE)
    for vectors in slowly_moving(5):
        before, found = len(basis), basis.extend(vectors)
        np.testing.assert_array_equal(np.asarray(found.new)[: found.added], np.asarray(basis.rows)[before:])
        assert not np.asarray(found.new)[found.added :].any()


def test_what_repeats_adds_nothing():
    basis = GrowingBasis(SIZE)
    vectors = RANDOM.normal(size=(COUNT, SIZE)) * [[1e-30], [1], [1e10], [3]]
    assert basis.extend(vectors).added == COUNT
    mixed = RANDOM.normal(size=(COUNT, COUNT)) @ vectors
    for again in (vectors, mixed, np.zeros((COUNT, SIZE)), 1e-200 * mixed):
        assert basis.extend(again).added == 0
    almost = vectors + 1e-15 * np.abs(vectors).max(axis=1, keepdims=True)
    assert basis.extend(almost).added == 0


def test_copies_within_a_question_add_one_direction():
    one, other = RANDOM.normal(size=(2, SIZE))
    found = GrowingBasis(SIZE).extend(np.stack([one, one, 2 * one, one + 1e-9 * other]))
    assert found.added == 2
    np.testing.assert_allclose(found.coordinates @ np.asarray(found.new)[:2], [one, one, 2 * one, one + 1e-9 * other])


def test_no_more_directions_than_dimensions():
    basis = GrowingBasis(3)
    assert basis.extend(RANDOM.normal(size=(COUNT, 3))).added == 3
    assert basis.extend(RANDOM.normal(size=(COUNT, 3))).added == 0


def test_the_worst_overlap_is_that_of_the_rows():
    basis = GrowingBasis(SIZE)
    for vectors in (*slowly_moving(20), *slowly_moving(20), *slowly_moving(20)):
        basis.extend(vectors)
    assert basis.worst_overlap > 0  # measured on the way, whenever a block is full
    basis.measure()
    rows = np.asarray(basis.rows)
    by_hand = np.abs(rows @ rows.T - np.eye(len(rows))).max()
    np.testing.assert_allclose(basis.worst_overlap, by_hand, atol=1e-15)
    assert basis.worst_overlap < 1e-14


@pytest.mark.parametrize("before", [1, 70])
def test_a_skew_basis_is_refused(before):
    """The overlap may be with a row of the same block or of an earlier one."""
    basis = GrowingBasis(SIZE)
    basis.extend(RANDOM.normal(size=(before, SIZE)))
    first = np.asarray(basis.rows)[0]
    other = basis.extend(RANDOM.normal(size=(1, SIZE))).new
    basis.rows.append(0.6 * first + 0.8 * np.asarray(other), 1)
    with pytest.raises(BlowUpError, match=r"overlap by 8\.0e-01"):
        basis.measure()


def test_what_is_not_finite_is_refused():
    with pytest.raises(FloatingPointError):
        GrowingBasis(SIZE).extend(np.full((1, SIZE), np.inf))
