r"""Mean and covariance over initialisations of what was learned linearly from Gaussian first outputs."""

import numpy as np
from jaxtyping import Float

from ..._errors import DomainError
from .train_test import TrainTestKernels

Moments = tuple[Float[np.ndarray, "N_test n_L"], Float[np.ndarray, "N_test N_test"]]
"""Mean and covariance, which is the same for all outputs."""


def before_training(kernels: TrainTestKernels, y: Float[np.ndarray, "N_train n_L"]) -> Moments:
    """Of first outputs: nothing is known but the kernel."""
    return np.zeros((len(kernels.K) - kernels.trained, y.shape[1])), kernels.K_test


def generalised_posterior(
    kernels: TrainTestKernels, readout: Float[np.ndarray, "N_test N_train"], y: Float[np.ndarray, "N_train n_L"]
) -> Moments:
    r"""Of $z_{\mathcal B} - M(z_{\mathcal A}-y)$ with $z \sim N(0, K)$:

    $$m = My,\qquad \mathrm{Cov} = K_{\mathcal{BB}} - MK_{\mathcal{AB}} - K_{\mathcal{BA}}M^T + MK_{\mathcal{AA}}M^T,$$

    at the end, where $M = \Theta_{\mathcal{BA}}\widetilde\Theta^{-1}$, the generalised posterior, PDLT (10.40)-(10.41).
    """
    half = (readout @ kernels.K_train / 2 - kernels.K_cross) @ readout.T
    covariance = kernels.K_test + half + half.T
    return readout @ y, _with_variances(covariance, kernels, float(np.abs(readout).sum(axis=1).max()) ** 2)


def bayesian_posterior(
    kernels: TrainTestKernels, half: Float[np.ndarray, "N_train N_test"], y: Float[np.ndarray, "N_train n_L"]
) -> Moments:
    r"""At the end of one kernel $\Theta = K$, where four terms are one, $K_{\mathcal{BB}} - h^Th$, PDLT (6.57), (6.64). Given are
    $h = L^{-1}K_{\mathcal{AB}}$ and the targets $L^{-1}y$, with $LL^T = \widetilde K$."""
    return half.T @ y, _with_variances(kernels.K_test - half.T @ half, kernels, 1.0)


def _with_variances(
    covariance: Float[np.ndarray, "N_test N_test"], kernels: TrainTestKernels, gain: float
) -> Float[np.ndarray, "N_test N_test"]:
    """The covariance, unless it is negative beyond rounding; `gain` is how much larger than the kernel its terms may be."""
    if np.diagonal(covariance).min() < -1e-8 * float(np.diagonal(kernels.K).max()) * max(1.0, gain):
        raise DomainError("kernel", "a matrix that gives a negative variance", "positive semi-definite matrices")
    return covariance
