"""`KernelNetworkClassifier`: classes by networks of infinite width, a scikit-learn estimator. Importing this file imports scikit-learn."""

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._errors import DomainError, named
from ..._validation import as_count
from ...networks import MLP
from .predict import predict
from .targets import smooth_labels


class KernelNetworkClassifier(ClassifierMixin, BaseEstimator):
    r"""What networks of infinite width say that were trained on cross-entropy to the end, PDLT (10.36)-(10.41).

    Labels are made reachable by `smooth_labels`; the mean over initialisations of the logits is then in closed form, for thousands of
    samples. Scale inputs first, as with any kernel method.

    **Arguments:**

    - `activation`, `depth`: of the network, with `depth` layers, the output included; widths are infinite.
    - `C_b`, `C_W`, `lambda_b`, `lambda_W`: as for an `MLP`.
    - `smoothing`: what of a label's probability is shared among other classes; between 0 and 1.
    """

    def __init__(
        self,
        activation: Any = "relu",
        depth: Any = 3,
        C_b: Any = 0.1,
        C_W: Any = 2.0,
        lambda_b: Any = 1.0,
        lambda_W: Any = 1.0,
        smoothing: Any = 0.1,
    ):
        self.activation = activation
        self.depth = depth
        self.C_b = C_b
        self.C_W = C_W
        self.lambda_b = lambda_b
        self.lambda_W = lambda_W
        self.smoothing = smoothing

    def fit(self, X: Any, y: Any) -> "KernelNetworkClassifier":
        """Keep the training set; `y` are labels of any kind."""
        inputs, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, numbers = np.unique(np.asarray(labels), return_inverse=True)
        if len(self.classes_) < 2:
            raise DomainError("y", "one class", "at least two classes")
        with named(epsilon="smoothing"):
            self.y_train_ = smooth_labels(np.eye(len(self.classes_))[numbers], self.smoothing)
        self.X_train_ = np.asarray(inputs)
        self._network()  # everything depends on where one asks; but this checks the arguments
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The softmax of mean logits, one column a class, as in `classes_`."""
        check_is_fitted(self)
        inputs = np.asarray(validate_data(self, X, reset=False, dtype=np.float64))
        found = predict(self._network(), self.X_train_, self.y_train_, inputs, loss="cross_entropy")
        return softmax(np.asarray(found.mean), axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each sample."""
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[likeliest]

    def _network(self) -> MLP:
        hidden = (1,) * (as_count(self.depth, "depth") - 1)
        widths = (self.X_train_.shape[1], *hidden, len(self.classes_))
        return MLP(self.activation, widths, self.C_b, self.C_W, self.lambda_b, self.lambda_W)
