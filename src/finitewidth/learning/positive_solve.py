"""Linear systems with a kernel: a Cholesky factor in place, with the smallest jitter that works."""

from dataclasses import dataclass

import numpy as np
import scipy
from jaxtyping import Float

from .._entry import warn
from .._errors import DomainError
from .._progress import ProgressBar

_BLOCK = 512  # columns that are factorised at a time
_ROUNDING = float(np.finfo(float).eps)
KNOWN_TO = 1e-13
"""How well the entries of a kernel are known, relative to the largest: quadratures give no more."""
_LARGEST_JITTER = 1e-4  # of the largest entry: a matrix that needs more is not positive
_ALIKE = 1e-6  # one minus the correlation below which two samples are named as the reason


@dataclass(frozen=True, eq=False)
class PositiveSolve:
    """A positive matrix $M + \\text{jitter}$ by its Cholesky factor: what one does with a matrix instead of inverting it."""

    factor: Float[np.ndarray, "N N"]
    """$L$ with $LL^T = M$ in the lower triangle; above it stands $M$ still."""
    jitter: float
    """What was added to the diagonal: zero unless the matrix is singular within what is known of its entries."""
    condition: float
    """An estimate of the condition number: how much larger relative errors of the matrix may become in a solution."""

    def solve(self, b: Float[np.ndarray, "N *columns"]) -> Float[np.ndarray, "N *columns"]:
        """$M^{-1}b$."""
        return scipy.linalg.lapack.dpotrs(self.factor, b, lower=1)[0].reshape(b.shape)

    def whiten(self, b: Float[np.ndarray, "N *columns"]) -> Float[np.ndarray, "N *columns"]:
        """$L^{-1}b$, whose square is $b^TM^{-1}b$."""
        return scipy.linalg.lapack.dtrtrs(self.factor, b, lower=1)[0].reshape(b.shape)

    @property
    def log_determinant(self) -> float:
        r"""$\log\det M$."""
        return 2 * float(np.log(np.diagonal(self.factor)).sum())

    def inverse(self) -> Float[np.ndarray, "N N"]:
        """$M^{-1}$ itself, for the few formulas that need its entries."""
        lower = np.tril(scipy.linalg.lapack.dpotri(self.factor, lower=1)[0])
        return lower + np.tril(lower, -1).T


def positive_solve(
    matrix: Float[np.ndarray, "N N"],
    argument: str,
    remedy: str,
    *,
    overwrite: bool = False,
    progress: bool | None = False,
) -> PositiveSolve:
    """The factor of a symmetric positive matrix of up to many thousand rows.

    Entries of a kernel are known to about 1e-13. A matrix that is singular within that gets the smallest jitter, from there on by
    factors of ten, with which its factor exists and solutions have a digit; a warning names the `argument`, the reason and the
    `remedy`.

    **Arguments:**

    - `matrix`: of which only the upper triangle is read. In Fortran's order (a transposed symmetric array is) with `overwrite`
      it is factorised in place, and its memory is the only one needed.
    - `progress`: a progress bar that counts columns; by default none, with `None` for long runs in a terminal.
    """
    work = matrix if overwrite and matrix.flags.f_contiguous else np.array(matrix, order="F")
    diagonal, norm = np.diagonal(work).copy(), float(scipy.linalg.lapack.dlange("1", work))
    largest, known_to = float(diagonal.max()), max(KNOWN_TO, _ROUNDING * len(work))
    if not diagonal.min() >= 0 or largest == 0:
        raise DomainError(argument, f"a matrix with {diagonal.min():.3g} on its diagonal", "a positive matrix")
    jitter = 0.0
    while True:
        if _factorised(work, progress):
            condition = _condition(work, norm + jitter, largest)
            if condition * known_to < 1:
                break
        jitter = 10 * jitter if jitter else known_to * largest
        if jitter > _LARGEST_JITTER * largest:
            got = f"a matrix that is not positive, even with {jitter / 10:.1e} added to its diagonal"
            raise DomainError(argument, got, "a positive semi-definite matrix")
        _restore(work, diagonal + jitter)
    if jitter:
        why = reason(work, diagonal)
        warn(f"`{argument}` is singular to about 13 digits ({why}): {jitter:.1e} was added to its diagonal. {remedy}.")
    return PositiveSolve(work, jitter, condition)


def _factorised(work: Float[np.ndarray, "N N"], progress: bool | None) -> bool:
    """Overwrite the lower triangle by the factor, block after block of columns; whether there is one."""
    size = len(work)
    with ProgressBar(size, progress, things="columns") as bar:
        for start in range(0, size, _BLOCK):
            end = min(start + _BLOCK, size)
            here, before = slice(start, end), work[start:end, :start]
            corner, failed = scipy.linalg.lapack.dpotrf(work[here, here] - before @ before.T, lower=1)
            if failed:
                return False
            work[here, here] = np.triu(work[here, here], 1) + corner
            if end < size:
                below = work[end:, here] - work[end:, :start] @ before.T
                work[end:, here] = scipy.linalg.blas.dtrsm(1.0, corner, below, side=1, lower=1, trans_a=1)
            bar.advance_to(end)
    return True


def _condition(work: Float[np.ndarray, "N N"], norm: float, largest: float) -> float:
    """LAPACK's estimate, from below, which may overlook two equal samples among many; these leave a small pivot."""
    estimate = float(scipy.linalg.lapack.dpocon(work, norm, uplo="L")[0])
    smallest = float(np.diagonal(work).min()) ** 2
    return max(1 / max(estimate, np.finfo(float).tiny), largest / smallest)


def _restore(work: Float[np.ndarray, "N N"], diagonal: Float[np.ndarray, " N"]) -> None:
    """The matrix again, from its upper triangle, which the factor leaves alone."""
    for start in range(0, len(work), _BLOCK):
        rows = slice(start, start + _BLOCK)
        work[rows, :start] = work[:start, rows].T
        corner = np.triu(work[rows, rows], 1)
        work[rows, rows] = corner + corner.T
    np.fill_diagonal(work, diagonal)


def reason(work: Float[np.ndarray, "N N"], diagonal: Float[np.ndarray, " N"]) -> str:
    """Which two samples are alike, if two are: read off the upper triangle."""
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    best, pair = -1.0, (0, 0)
    for row in range(len(work) - 1):
        alike = np.abs(work[row, row + 1 :]) / (scale[row] * scale[row + 1 :])
        if alike.max() > best:
            best, pair = float(alike.max()), (row, row + 1 + int(alike.argmax()))
    if best > 1 - _ALIKE:
        return f"samples {pair[0]} and {pair[1]} are duplicates or nearly so: one minus their correlation is {max(1 - best, 0.0):.1e}"
    return f"its {len(work)} samples are linearly dependent, though no two are alike"
