r"""Linear models and kernel methods, two pictures of one thing, PDLT section 10.4."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ..._entry import entry
from ..._errors import DomainError, ShapeError
from ..._validation import as_floats, as_number
from .train_test import as_targets


@entry()
def fit_linear_model(features: Any, y_train: Any, ridge: float = 0.0) -> Float[np.ndarray, "n_L n_f"]:
    r"""The weights $W^\star$ of $z_i = \sum_jW_{ij}\phi_j$ with the least $\frac12\sum(z-y)^2 + a\sum W^2$, PDLT (10.119)-(10.124):

    $$W^\star = \Big(\sum_ay_a\phi_a^T\Big)\Big(\sum_a\phi_a\phi_a^T + 2a\,1\Big)^{-1},$$

    at $a = 0$ its limit, the weights of least norm, which exists also where the matrix is singular.

    **Arguments:**

    - `features`: $\phi_j(x_a)$, shape (N_train, n_f), one sample a row; put a column of ones for $\phi_0$.
    - `y_train`: targets (N_train, n_L).
    - `ridge`: $a$, half of what scikit-learn's `Ridge(alpha=2 * a)` calls `alpha`.

    Examples:
        >>> fw.learning.fit_linear_model([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 2.0, 3.0]).round(6).tolist()
        [[1.0, 1.0]]
    """
    phi, targets, penalty = _as_features(features, "features"), y_train, as_number(ridge, "ridge", low=0.0)
    y = as_targets(targets, len(phi))
    if penalty == 0:
        return (np.linalg.pinv(phi) @ y).T
    return np.linalg.solve(phi.T @ phi + 2 * penalty * np.eye(phi.shape[1]), phi.T @ y).T


@entry()
def kernel_regression(kernel: Any, y_train: Any, ridge: float = 0.0) -> Float[np.ndarray, "N_test n_L"]:
    r"""The dual of a linear model, $z_\beta = k_{\beta a}(\tilde k + 2a\,1)^{-1}y$, PDLT (10.130)-(10.132): predictions from the kernel
    $k = \sum_j\phi_j\phi_j$ alone, PDLT (10.127), (10.136).

    **Arguments:**

    - `kernel`: on training inputs first and then test inputs, any of them; (N_train + N_test) square.
    - `ridge`: $a$ of the loss $\frac12\sum(z-y)^2 + a\sum W^2$, of which $2a$ comes to stand on the diagonal: half of what scikit-learn's
      `KernelRidge(alpha=2 * a)` calls `alpha`, whose loss has no $\frac12$. At zero the pseudo-inverse, the limit of small ones.

    Examples:
        >>> kernel = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]]
        >>> fw.learning.kernel_regression(kernel, [0.0, 1.5]).round(6).tolist()
        [[0.6]]
    """
    matrix, y, penalty = (
        np.asarray(as_floats(kernel, "kernel")),
        as_targets(y_train),
        as_number(ridge, "ridge", low=0.0),
    )
    trained = len(y)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) <= trained:
        want = f"a square matrix of more than {trained} rows: training inputs first, then test inputs"
        raise ShapeError("kernel", f"shape {matrix.shape}", want)
    cross, inner = matrix[trained:, :trained], matrix[:trained, :trained]
    if penalty == 0:
        return cross @ (np.linalg.pinv(inner, hermitian=True) @ y)
    return cross @ np.linalg.solve(inner + 2 * penalty * np.eye(trained), y)


@entry()
def linear_kernel(features: Any) -> Float[np.ndarray, "N N"]:
    r"""$k(x, x') = \sum_j\phi_j(x)\phi_j(x')$ of features, one sample a row, PDLT (10.127)-(10.128).

    Examples:
        >>> fw.learning.linear_kernel([[1.0, 0.0], [1.0, 1.0]]).tolist()
        [[1.0, 1.0], [1.0, 2.0]]
    """
    phi = _as_features(features, "features")
    return phi @ phi.T


@entry()
def gaussian_kernel(x: Any, width: float) -> Float[np.ndarray, "N N"]:
    r"""$k(x, x') = \exp[-|x-x'|^2/2\sigma^2]$, PDLT (10.133), $\sigma$ the `width`; one sample a row.

    Examples:
        >>> fw.learning.gaussian_kernel([[0.0], [1.0]], 1.0).round(6).tolist()
        [[1.0, 0.606531], [0.606531, 1.0]]
    """
    inputs, sigma = _as_features(x, "x"), as_number(width, "width", low=0.0)
    if sigma == 0:
        raise DomainError("width", sigma, "a number > 0")
    squares = np.sum((inputs[:, None] - inputs[None]) ** 2, axis=-1)
    return np.exp(-squares / (2 * sigma**2))


def _as_features(value: Any, argument: str) -> Float[np.ndarray, "N n_f"]:
    array = np.asarray(as_floats(value, argument))
    if array.ndim != 2 or 0 in array.shape:
        raise ShapeError(argument, f"shape {array.shape}", "shape (N, n_f) with one sample a row")
    return array
