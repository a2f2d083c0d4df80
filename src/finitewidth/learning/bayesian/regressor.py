"""`BayesianNetworkRegressor`: posteriors as a scikit-learn estimator. Importing this file imports scikit-learn."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._errors import ArgumentError
from ..._validation import as_count, as_number
from ...networks import MLP
from .bayes import bayes, log_evidence_of_data


class BayesianNetworkRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """What networks say that are drawn at random and agree with the data, PDLT (6.64)-(6.67), with their uncertainty.

    Targets are learned as they are, about a mean of zero: scale inputs and targets first, as with any Gaussian process. After `fit`,
    `log_evidence_` is the logarithm of the evidence of the training set, by which to choose among estimators.

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

    def fit(self, X: Any, y: Any) -> "BayesianNetworkRegressor":
        """Keep the training set and weigh its evidence. `y` may have several columns, one an output."""
        inputs, targets = map(
            np.asarray, validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        )
        self.X_train_, self.y_train_ = inputs, targets.astype(np.float64)
        outputs = 1 if self.y_train_.ndim == 1 else self.y_train_.shape[1]
        self.order_ = 0 if self.width is None else 1
        hidden = (1 if self.width is None else as_count(self.width, "width"),) * (as_count(self.depth, "depth") - 1)
        self.network_ = MLP(self.activation, (inputs.shape[1], *hidden, outputs), self.C_b, self.C_W)
        self.noise_ = as_number(self.noise, "noise", low=0.0)
        self.log_evidence_ = log_evidence_of_data(self.network_, inputs, self.y_train_, self.noise_, self.order_)
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Means, shaped as the targets were; with `return_std` also standard deviations, of the same shape, or with `return_cov` also the
        covariance, (N, N), or (N, N, n, n) for targets of n columns."""
        check_is_fitted(self)
        if return_std and return_cov:
            raise ArgumentError("return_std, return_cov", "both", "one of them")
        inputs = validate_data(self, X, reset=False, dtype=np.float64)
        found = bayes(self.network_, self.X_train_, self.y_train_, inputs, self.noise_, self.order_)
        flat = self.y_train_.ndim == 1
        mean = found.mean[:, 0] if flat else found.mean
        if return_cov:
            covariance = found.covariance
            return mean, covariance[:, :, 0, 0] if flat else covariance
        if return_std:
            deviation = found.standard_deviation
            return mean, deviation[:, 0] if flat else deviation
        return mean
