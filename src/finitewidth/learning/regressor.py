"""What the scikit-learn estimators of this room have in common. Importing this file imports scikit-learn."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._errors import ArgumentError
from .._validation import as_count
from ..networks import MLP
from ..results import Posterior, Prediction


class NetworkRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A network and a training set, which together say something of new inputs, with its uncertainty.

    An estimator has its own `__init__`, since scikit-learn reads the arguments off it, and says what it does with a training set, how
    it predicts, and which covariance it returns.
    """

    activation: Any
    depth: Any
    C_b: Any
    C_W: Any

    def fit(self, X: Any, y: Any) -> "NetworkRegressor":
        """Keep the training set. `y` may have several columns, one an output."""
        inputs, targets = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        self.X_train_, self.y_train_ = np.asarray(inputs), np.asarray(targets, dtype=np.float64)
        self._learn()
        return self

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Means, shaped as the targets were; with `return_std` also standard deviations, of the same shape, or with `return_cov` also
        the covariance."""
        check_is_fitted(self)
        if return_std and return_cov:
            raise ArgumentError("return_std, return_cov", "both", "one of them")
        found = self._predicted(np.asarray(validate_data(self, X, reset=False, dtype=np.float64)))
        flat = self.y_train_.ndim == 1
        mean = found.mean[:, 0] if flat else found.mean
        if return_cov:
            return mean, self._covariance(found, flat)
        if return_std:
            deviation = found.standard_deviation
            return mean, deviation[:, 0] if flat else deviation
        return mean

    @abstractmethod
    def _learn(self) -> None:
        """What there is to do with `X_train_` and `y_train_`; arguments are checked here."""

    @abstractmethod
    def _predicted(self, inputs: np.ndarray) -> Posterior | Prediction:
        """What `bayes` or `predict` says at new inputs."""

    @abstractmethod
    def _covariance(self, found: Any, flat: bool) -> np.ndarray:
        """That which `return_cov` asks for; `flat` if targets have one axis."""

    def _network(self, width: int = 1, **rates: Any) -> MLP:
        """For this training set; without a width one of infinite width is meant, which knows none."""
        outputs = 1 if self.y_train_.ndim == 1 else self.y_train_.shape[1]
        hidden = (width,) * (as_count(self.depth, "depth") - 1)
        return MLP(self.activation, (self.X_train_.shape[1], *hidden, outputs), self.C_b, self.C_W, **rates)
