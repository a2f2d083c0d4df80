"""`BayesianNetworkRegressor`: posteriors as a scikit-learn estimator. Importing this file imports scikit-learn."""

from typing import Any

import numpy as np

from ..._validation import as_count, as_number
from ...results import Posterior
from ..regressor import NetworkRegressor
from .bayes import bayes, log_evidence_of_data


class BayesianNetworkRegressor(NetworkRegressor):
    """What networks say that are drawn at random and agree with the data, PDLT (6.64)-(6.67), with their uncertainty.

    Targets are learned as they are, about a mean of zero: scale inputs and targets first, as with any Gaussian process. After `fit`,
    `log_evidence_` is the logarithm of the evidence of the training set, by which to choose among estimators. The covariance that
    `predict` returns is (N, N), or (N, N, n, n) for targets of n columns.

    **Arguments:**

    - `activation`, `depth`: of the network, with `depth` layers, the output included.
    - `width`: of its hidden layers. `None` is infinite width, for thousands of samples; a number adds the correction of order
      1/width, for some tens.
    - `C_b`, `C_W`: as for an `MLP`.
    - `noise`: the variance of independent noise on every target.
    """

    def __init__(
        self,
        activation: Any = "relu",
        depth: Any = 3,
        width: Any = None,
        C_b: Any = 0.1,
        C_W: Any = 2.0,
        noise: Any = 0.01,
    ):
        self.activation = activation
        self.depth = depth
        self.width = width
        self.C_b = C_b
        self.C_W = C_W
        self.noise = noise

    def _learn(self) -> None:
        self.order_ = 0 if self.width is None else 1
        self.network_ = self._network(1 if self.width is None else as_count(self.width, "width"))
        self.noise_ = as_number(self.noise, "noise", low=0.0)
        self.log_evidence_ = log_evidence_of_data(self.network_, self.X_train_, self.y_train_, self.noise_, self.order_)

    def _predicted(self, inputs: np.ndarray) -> Posterior:
        return bayes(self.network_, self.X_train_, self.y_train_, inputs, self.noise_, self.order_)

    def _covariance(self, found: Posterior, flat: bool) -> np.ndarray:
        covariance = np.asarray(found.covariance)
        return covariance[:, :, 0, 0] if flat else covariance
