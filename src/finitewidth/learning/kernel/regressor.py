"""`KernelNetworkRegressor`: predictions of infinite width as a scikit-learn estimator. Importing this file imports scikit-learn."""

import math
from typing import Any

import numpy as np

from ...networks import MLP
from ...results import Prediction
from ..regressor import NetworkRegressor
from .predict import predict


class KernelNetworkRegressor(NetworkRegressor):
    """What networks of infinite width predict once they are trained on squared errors, PDLT (10.40)-(10.41).

    Uncertainties are those over initialisations: how much one trained network differs from another. Targets are learned as they
    are, about a mean of zero: scale inputs and targets first, as with any kernel method. The covariance that `predict` returns is that
    of samples, (N, N), the same for every output.

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

    def _learn(self) -> None:
        self._limit()  # everything depends on where one asks; but this checks the arguments

    def _limit(self) -> MLP:
        """Made anew when needed, for not every activation can be pickled."""
        return self._network(lambda_b=self.lambda_b, lambda_W=self.lambda_W)

    def _predicted(self, inputs: np.ndarray) -> Prediction:
        return predict(self._limit(), self.X_train_, self.y_train_, inputs, time=self.time)

    def _covariance(self, found: Prediction, flat: bool) -> np.ndarray:
        return np.asarray(found.sample_covariance)
