r"""Mean and covariance over initialisations of what was learned linearly from Gaussian first outputs."""

import numpy as np
from jaxtyping import Float

from ..._errors import DomainError
from .train_test import TrainTestKernels


def generalised_posterior(
    kernels: TrainTestKernels, readout: Float[np.ndarray, "N_test N_train"], y: Float[np.ndarray, "N_train n_L"]
) -> tuple[Float[np.ndarray, "N_test n_L"], Float[np.ndarray, "N_test N_test"]]:
    r"""Of $z_{\mathcal B} - M(z_{\mathcal A}-y)$ with $z \sim N(0, K)$, the same for all outputs:

    $$m = My,\qquad \mathrm{Cov} = K_{\mathcal{BB}} - MK_{\mathcal{AB}} - K_{\mathcal{BA}}M^T + MK_{\mathcal{AA}}M^T,$$

    at the end, where $M = \Theta_{\mathcal{BA}}\widetilde\Theta^{-1}$, the generalised posterior, PDLT (10.40)-(10.41); with $\Theta = K$
    that of Bayes, PDLT (6.57), (6.64).
    """
    half = readout @ (kernels.K_train @ readout.T / 2 - kernels.K_cross.T)
    covariance = kernels.K_test + half + half.T
    scale = float(np.abs(kernels.K).max()) * max(1.0, float(np.abs(readout).sum(axis=1).max()) ** 2)
    if np.diagonal(covariance).min() < -1e-8 * scale:
        raise DomainError("kernel", "a matrix that gives a negative variance", "positive semi-definite matrices")
    return readout @ y, covariance
