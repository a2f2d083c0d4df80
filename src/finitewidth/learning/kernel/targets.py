"""Targets of cross-entropy, and the metric in which squared errors are summed."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ..._entry import entry
from ..._errors import ArgumentError, DomainError, ShapeError
from ..._validation import as_count, as_covariance, as_floats, as_number

_ROUNDING = 1e-9


def as_probabilities(y: Float[np.ndarray, "N n_L"]) -> Float[np.ndarray, "N n_L"]:
    """Targets of cross-entropy, one distribution over outputs a sample."""
    if y.shape[1] < 2:
        raise ShapeError("y_train", "one output", "at least two for cross-entropy: one a class")
    if (y < 0).any() or np.abs(y.sum(axis=1) - 1).max() > _ROUNDING:
        raise DomainError("y_train", "rows that are no probabilities", "numbers >= 0 that sum to one for each sample")
    return y


def one_hot(y_train: Any, loss: str, outputs: int | None) -> Any:
    """Class numbers, one a sample, as the rows that cross-entropy asks for; other targets as they are. Without a number of `outputs` as
    many classes as there are."""
    if (
        loss != "cross_entropy"
        or y_train is None
        or np.ndim(y_train) != 1
        or np.asarray(y_train).dtype.kind not in "iu"
    ):
        return y_train
    classes = np.asarray(y_train)
    count = max(2, int(classes.max(initial=0)) + 1) if outputs is None else outputs
    if count > 1 and ((classes < 0) | (classes >= count)).any():
        wrong = classes[(classes < 0) | (classes >= count)][0]
        raise DomainError("y_train", f"class number {wrong}", f"numbers from 0 to {count - 1}: one class an output")
    return np.eye(count)[classes] if count > 1 else y_train


@entry()
def smooth_labels(classes: Any, epsilon: float) -> Float[np.ndarray, "N n_L"]:
    r"""One-hot labels made reachable: $p = 1-\epsilon$ for the class of each sample and $\frac\epsilon{n_L-1}$ for each other.

    Cross-entropy is least at the logits $y = \log p$, PDLT (10.36)-(10.38), which then differ by the finite
    $\log\frac{(1-\epsilon)(n_L-1)}\epsilon$.

    **Arguments:**

    - `classes`: one-hot rows, shape (N, n_L).
    - `epsilon`: in (0, 1).

    Examples:
        >>> fw.learning.kernel.smooth_labels([[1.0, 0.0]], 0.1).tolist()
        [[0.9, 0.1]]
    """
    hot = np.asarray(as_floats(classes, "classes"))
    if hot.ndim != 2 or hot.shape[1] < 2:
        raise ShapeError("classes", f"shape {hot.shape}", "one-hot rows, shape (N, n_L) with n_L > 1")
    if not (np.isin(hot, (0, 1)).all() and (hot.sum(axis=1) == 1).all()):
        raise DomainError("classes", "rows that are not one-hot", "a single one in each row, else zeros")
    share = as_number(epsilon, "epsilon", low=0.0, high=1.0)
    if share in (0.0, 1.0):
        raise DomainError("epsilon", share, "a number strictly between 0 and 1")
    return np.where(hot == 1, 1 - share, share / (hot.shape[1] - 1))


@entry()
def rescaled_targets(y: Any, depth: int, p_0: float) -> Float[np.ndarray, "*shape"]:
    r"""Targets that fall with depth as outputs do, $y\to y\,L^{-p_0/2}$, PDLT (∞.26), where $K^{(\ell)}\sim\ell^{-p_0}$, PDLT (∞.24);
    networks of different depths can then be compared. It is the same to rescale outputs by $L^{p_0/2}$, PDLT (∞.25).

    **Arguments:**

    - `y`: targets, of any shape.
    - `depth`: $L$.
    - `p_0`: the exponent of the kernel: 0 for ReLU and its like, 1 for tanh and others of the class K* = 0.

    Examples:
        >>> fw.learning.rescaled_targets([2.0], depth=4, p_0=1.0).tolist()
        [1.0]
    """
    return np.asarray(as_floats(y, "y")) * float(as_count(depth, "depth")) ** (-as_number(p_0, "p_0") / 2)


def as_kappa(kappa: Any, algorithm: str, loss: str, samples: int) -> Float[np.ndarray, "N N"] | None:
    r"""$\kappa^{ab}$, positive, of the generalised squared error, PDLT (10.22)."""
    if kappa is None:
        return None
    if loss != "mse" or algorithm not in ("gradient_flow", "gradient_descent"):
        got = f"a metric for {algorithm} of {loss}"
        raise ArgumentError("kappa", got, "nothing, or gradient_flow or gradient_descent of mse")
    metric = np.asarray(as_covariance(kappa, "kappa"))
    if metric.shape != (samples, samples):
        raise ShapeError("kappa", f"shape {metric.shape}", f"({samples}, {samples}): the training inputs")
    if np.linalg.eigvalsh(metric)[0] <= 0:
        raise DomainError("kappa", "a singular matrix", "a positive definite matrix")
    return metric
