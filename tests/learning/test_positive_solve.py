"""Solutions with a kernel, against NumPy's, and what happens where there is none."""

import numpy as np
import pytest

from finitewidth._errors import DomainError, ValidityWarning
from finitewidth.learning.positive_solve import positive_solve


def positive(size, smallest=0.5, seed=0):
    """A positive matrix of known eigenvalues, in Fortran's order."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(size, size)))[0]
    matrix = (Q * np.linspace(smallest, 3.0, size)) @ Q.T
    return np.asfortranarray((matrix + matrix.T) / 2)


@pytest.mark.parametrize("size", [1, 3, 600])  # one entry, one block, two blocks of which the last is short
@pytest.mark.parametrize("overwrite", [False, True])
def test_against_numpy(size, overwrite):
    matrix, b = positive(size), np.random.default_rng(1).normal(size=(size, 2))
    kept = matrix.copy()
    solved = positive_solve(matrix, "K", "", overwrite=overwrite)
    assert solved.jitter == 0.0
    assert (solved.factor is matrix) == overwrite
    if not overwrite:
        np.testing.assert_array_equal(matrix, kept)
    np.testing.assert_allclose(solved.solve(b), np.linalg.solve(kept, b), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(solved.solve(b[:, 0]), np.linalg.solve(kept, b[:, 0]), rtol=1e-11, atol=1e-11)
    half = solved.whiten(b)
    np.testing.assert_allclose(half.T @ half, b.T @ np.linalg.solve(kept, b), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(solved.inverse(), np.linalg.inv(kept), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(solved.log_determinant, np.linalg.slogdet(kept)[1], rtol=1e-11, atol=1e-11)
    assert (
        np.linalg.cond(kept, 1) / 3 < solved.condition < 1.001 * np.linalg.cond(kept, 1)
    )  # LAPACK's estimate is from below


@pytest.mark.parametrize("size", [4, 600])
def test_duplicates_get_the_smallest_jitter(size):
    """The factor is that of the matrix with jitter, and a tenth of it would not do."""
    matrix = positive(size)
    matrix[:, -1], matrix[-1, :] = matrix[:, 1], matrix[1, :]
    matrix[-1, -1] = matrix[1, 1]
    with pytest.warns(ValidityWarning, match=rf"`K` is singular.*samples 1 and {size - 1} are duplicates.*Do this\."):
        solved = positive_solve(matrix, "K", "Do this")
    lower = np.tril(solved.factor)
    np.testing.assert_allclose(lower @ lower.T, matrix + solved.jitter * np.eye(size), rtol=0, atol=1e-13)
    accuracy = max(1e-13, np.finfo(float).eps * size)
    assert accuracy < solved.jitter < 100 * accuracy
    assert solved.condition * accuracy < 1
    assert 0.1 < np.linalg.cond(matrix + solved.jitter * np.eye(size)) / solved.condition < 10
    b = matrix @ np.ones(size)  # within the range: jitter hardly matters
    np.testing.assert_allclose(matrix @ solved.solve(b), b, rtol=1e-8)


def test_nearly_alike_are_solved_as_they_are():
    """Two samples whose correlation is 1 - 1e-10 need no jitter: the solution is that of the 2 x 2 system."""
    gap = 2.0**-33
    matrix = np.array([[1.0, 1 - gap], [1 - gap, 1.0]])
    solved = positive_solve(matrix, "K", "")
    assert solved.jitter == 0.0
    np.testing.assert_allclose(solved.solve(np.array([1.0, -1.0])), [1 / gap, -1 / gap], rtol=1e-5)


def test_dependent_samples_are_not_called_duplicates():
    rows = np.random.default_rng(0).normal(size=(5, 3))
    with pytest.warns(ValidityWarning, match="its 5 samples are linearly dependent, though no two are alike"):
        positive_solve(rows @ rows.T, "K", "")


def test_a_progress_bar_counts_columns(capsys):
    positive_solve(positive(600), "K", "", progress=True)
    assert "columns" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "`K`: got a matrix that is not positive"),
        ([[1.0, 0.0], [0.0, -1.0]], "`K`: got a matrix with -1 on its diagonal"),
        ([[0.0]], "`K`: got a matrix with 0 on its diagonal"),
    ],
)
def test_matrices_that_are_not_positive(matrix, message):
    with pytest.raises(DomainError, match=message):
        positive_solve(np.array(matrix), "K", "")
