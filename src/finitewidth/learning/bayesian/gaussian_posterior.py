r"""The posterior at infinite width: linear algebra with a kernel on training samples $A$, then test samples $B$."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..._entry import entry
from ..._errors import DomainError
from ..._validation import as_count, as_covariance
from ..positive_solve import PositiveSolve, positive_solve
from .evidence import REMEDY, log_density, noisy_kernel

_ROUNDING = 1e-8  # of the prior variance: how negative a posterior variance may be


@dataclass(frozen=True, eq=False)
class GaussianPosterior:
    r"""What conditioning on targets makes of a Gaussian process, and the vectors that corrections are made of."""

    solved: PositiveSolve
    r"""$\widetilde K + \sigma_\varepsilon^2$ on the training samples."""
    u: Float[np.ndarray, "A n_L"]
    r"""$u_i^a = \sum_b\widetilde K^{ab}y_{i;b}$."""
    mean: Float[np.ndarray, "B n_L"]
    r"""$m^\infty_{i;\beta} = \sum_{ab}K_{\beta a}\widetilde K^{ab}y_{i;b}$, PDLT (6.64)."""
    covariance: Float[np.ndarray, "B B"]
    r"""$\mathbb K_{\beta_1\beta_2} = K_{\beta_1\beta_2} - K_{\beta_1a}\widetilde K^{ab}K_{b\beta_2}$, PDLT (6.57)."""
    log_evidence: float
    """PDLT (6.34)."""
    cross: Float[np.ndarray, "A B"]
    """The kernel between training and test samples."""
    prior: Float[np.ndarray, " B"]
    """Variances before the data."""

    def projection(self) -> Float[np.ndarray, "B D"]:
        r"""$P_\beta{}^\delta$: the identity on test samples, $-R_\beta{}^a = -K_{\beta b}\widetilde K^{ba}$ on training samples."""
        return np.concatenate([-self.solved.solve(self.cross).T, np.eye(self.cross.shape[1])], axis=1)


def gaussian_posterior(
    K: Float[np.ndarray, "D D"],
    y: Float[np.ndarray, "A n_L"],
    noise: float,
    argument: str,
    progress: bool | None = False,
) -> GaussianPosterior:
    r"""The posterior PDLT (6.64)-(6.67) given targets `y` of the first samples. Noise enters on the diagonal of $\widetilde K$."""
    train = len(y)
    own = np.array(K[:train, :train], order="F")
    solved = noisy_kernel(own, noise, argument, overwrite=True, progress=progress)
    cross = np.asarray(K[:train, train:])
    u, half = solved.solve(y), solved.whiten(cross)
    covariance = K[train:, train:] - half.T @ half
    prior = np.diagonal(K)[train:]
    lowest = np.diagonal(covariance) / np.where(prior > 0, prior, 1.0)
    if lowest.size and float(lowest.min()) < -_ROUNDING * max(1.0, solved.condition * 1e-8):
        raise DomainError(argument, "a matrix that is not positive: a posterior variance is negative", "a covariance")
    return GaussianPosterior(
        solved, u, cross.T @ u, (covariance + covariance.T) / 2, log_density(solved, y), cross, prior
    )


@entry()
def blocks_of_inverse(kernel: Any, train: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""The blocks $K^{ab}$, $K^{a\beta}$, $K^{\beta_1\beta_2}$ of the inverse kernel on training and test samples, PDLT (6.53)-(6.56):

    $$K^{ab} = \widetilde K^{ab} + (\widetilde K^{-1}K_{AB}\mathbb K^{-1}K_{BA}\widetilde K^{-1})^{ab},\quad
      K^{a\beta} = -(\widetilde K^{-1}K_{AB}\mathbb K^{-1})^{a\beta},\quad K^{\beta_1\beta_2} = \mathbb K^{\beta_1\beta_2},$$

    with $\mathbb K$ the posterior covariance, PDLT (6.57)-(6.58). $\widetilde K^{ab}$, the inverse of a block, is not a block of the
    inverse.

    Examples:
        >>> [block.round(6).tolist() for block in fw.learning.blocks_of_inverse([[2.0, 1.0], [1.0, 2.0]], 1)]
        [[[0.666667]], [[-0.333333]], [[0.666667]]]
    """
    K = np.asarray(as_covariance(kernel, "kernel"))
    first = as_count(train, "train")
    if first >= len(K):
        raise DomainError("train", first, f"fewer than the {len(K)} samples, so that some are left for test")
    solved = positive_solve(K[:first, :first], "kernel", REMEDY)
    cross = K[:first, first:]
    R = solved.solve(cross)
    inverse = positive_solve(K[first:, first:] - cross.T @ R, "kernel", REMEDY).inverse()
    return solved.inverse() + R @ inverse @ R.T, -R @ inverse, inverse
