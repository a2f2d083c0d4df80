"""`KernelNetworkRegressor`: predictions of infinite width as a scikit-learn estimator. Importing this file imports scikit-learn."""

import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._errors import ArgumentError
from ..._validation import as_count
from ...networks import MLP
from .predict import predict


class KernelNetworkRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """What networks of infinite width predict once they are trained on squared errors, PDLT (10.40)-(10.41).

    Uncertainties are those over initialisations: how much one trained network differs from another. Targets are learned as they
    are, about a mean of zero: scale inputs and targets first, as with any kernel method.

    **Arguments:**

    - `activation`, `depth`: of the network, with `depth` layers, the output included; widths are infinite.
    - `C_b`, `C_W`, `lambda_b`, `lambda_W`: as for an `MLP`.
    - `time`: of gradient flow; shorter is early stopping, which smooths.
    """

    def __init__(
        self,
        activation: Any = "relu",
        depth: Any = 3,
        C_b: Any = 0.1,
        C_W: Any = 2.0,
        lambda_b: Any = 1.0,
        lambda_W: Any = 1.0,
        time: Any = math.inf,
    ):
        self.activation = activation
        self.depth = depth
        self.C_b = C_b
        self.C_W = C_W
        self.lambda_b = lambda_b
        self.lambda_W = lambda_W
        self.time = time

    def fit(self, X: Any, y: Any) -> "KernelNetworkRegressor":
        """Keep the training set: everything else depends on where one asks. `y` may have several columns, one an output."""
        inputs, targets = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        self.X_train_, self.y_train_ = np.asarray(inputs), np.asarray(targets, dtype=np.float64)
        self._network()  # which checks the arguments
        return self

    def _network(self) -> MLP:
        """Made anew when needed, for not every activation can be pickled."""
        outputs = 1 if self.y_train_.ndim == 1 else self.y_train_.shape[1]
        hidden = (1,) * (as_count(self.depth, "depth") - 1)  # of any width: the limit knows none
        rates = {"lambda_b": self.lambda_b, "lambda_W": self.lambda_W}
        return MLP(self.activation, (self.X_train_.shape[1], *hidden, outputs), self.C_b, self.C_W, **rates)

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Means, shaped as the targets were; with `return_std` also standard deviations, of the same shape, or with `return_cov` also
        the covariance of samples, (N, N), the same for every output."""
        check_is_fitted(self)
        if return_std and return_cov:
            raise ArgumentError("return_std, return_cov", "both", "one of them")
        inputs = validate_data(self, X, reset=False, dtype=np.float64)
        found = predict(self._network(), self.X_train_, self.y_train_, inputs, time=self.time)
        flat = self.y_train_.ndim == 1
        mean = found.mean[:, 0] if flat else found.mean
        if return_cov:
            return mean, found.sample_covariance
        if return_std:
            deviation = found.standard_deviation
            return mean, deviation[:, 0] if flat else deviation
        return mean
