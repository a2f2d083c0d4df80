r"""The evidence of targets at infinite width: for many inputs, and in closed form for one and for two.

All in logarithms: off criticality the evidence of a deep network leaves the range of numbers.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from ..._entry import entry
from ..._errors import DomainError, ShapeError
from ..._validation import as_covariance, as_floats, as_number
from ...critical import GammaComponents, gamma_components
from ..positive_solve import PositiveSolve, positive_solve
from .data import as_targets

REMEDY = "Leave out one of each such pair, or give `noise` > 0"
_TWO_PI = 2 * np.pi


def noisy_kernel(
    K: Float[np.ndarray, "A A"], noise: float, argument: str, *, overwrite: bool = False, progress: bool | None = False
) -> PositiveSolve:
    r"""$\widetilde K + \sigma_\varepsilon^2\mathbb 1$, to be solved with: noise of a variance that is independent for every sample
    adds to the diagonal. (It is no constant added to all entries, as footnote 6 of the book's chapter 6 has it.)"""
    if overwrite:
        np.fill_diagonal(K, np.diagonal(K) + noise)
    else:
        K = K + noise * np.eye(len(K))
    return positive_solve(K, argument, REMEDY, overwrite=overwrite, progress=progress)


def log_density(solved: PositiveSolve, y: Float[np.ndarray, "A n_L"]) -> float:
    r"""$-\frac{n_L}2\log|2\pi\widetilde K| - \frac12\sum_i\widetilde K^{ab}y_{i;a}y_{i;b}$, PDLT (6.34)."""
    samples, outputs = y.shape
    log_volume = samples * np.log(_TWO_PI) + solved.log_determinant
    return float(-outputs / 2 * log_volume - np.sum(solved.whiten(y) ** 2) / 2)


@entry()
def log_evidence(kernel: Any, y: Any, noise: float = 0.0) -> float:
    r"""$\log p(y|\mathcal H)$ of targets under a Gaussian process of a given kernel, PDLT (6.34):

    $$\log p(y_{\mathcal A}) = -\tfrac{n_L}2\log|2\pi\widetilde K| - \tfrac12\sum_i\widetilde K^{ab}y_{i;a}y_{i;b}.$$

    **Arguments:**

    - `kernel`: on the samples, shape (N, N).
    - `y`: targets, shape (N, n_L), or (N,) for one output.
    - `noise`: the variance of independent noise on every target.

    Examples:
        >>> round(fw.learning.log_evidence([[1.0]], [0.0]), 6)
        -0.918939
    """
    K = np.asarray(as_covariance(kernel, "kernel"))
    targets = as_targets(y, "y", len(K), None)
    return log_density(noisy_kernel(K, as_number(noise, "noise", low=0.0), "kernel"), targets)


@entry()
def log_evidence_of_one(kernel: float, y: Any) -> float:
    r"""One input: $p(y) = (2\pi\widetilde K)^{-n_L/2}e^{-Y/2\widetilde K}$ with $Y = \sum_iy_i^2$, PDLT (6.36).

    It vanishes as $\widetilde K^{-n_L/2}$ for large kernels, PDLT (6.37), and exponentially for small ones, PDLT (6.38)-(6.39):
    the best is $\widetilde K = Y/n_L$, `best_kernel_of_one`.

    Examples:
        >>> round(fw.learning.log_evidence_of_one(1.0, [0.0]), 6)
        -0.918939
    """
    K, targets = _positive(kernel, "kernel"), _outputs(y, "y")
    return float(-targets.size / 2 * np.log(_TWO_PI * K) - np.sum(targets**2) / (2 * K))


@entry()
def best_kernel_of_one(y: Any) -> float:
    r"""$\widetilde K = Y/n_L$, at which one input's evidence PDLT (6.36) is largest.

    Examples:
        >>> fw.learning.best_kernel_of_one([1.0, 3.0])
        5.0
    """
    return float(np.mean(_outputs(y, "y") ** 2))


@entry()
def label_components(y_plus: Any, y_minus: Any) -> GammaComponents:
    r"""The targets of two inputs $x_\pm$ seen as a kernel is, PDLT (6.41), (6.44), (6.47): $Y_{[0]} = \sum_i(\frac{y_{i;+}+y_{i;-}}2)^2$,
    $Y_{[1]} = \frac12\sum_i(y_{i;+}^2-y_{i;-}^2)$, $Y_{[2]} = \sum_i(\frac{y_{i;+}-y_{i;-}}2)^2$.

    Examples:
        >>> float(fw.learning.label_components([1.0], [0.0]).K_0)
        0.25
    """
    plus, minus = _outputs(y_plus, "y_plus"), _outputs(y_minus, "y_minus")
    if plus.shape != minus.shape:
        raise ShapeError("y_minus", f"{minus.size} outputs", f"{plus.size}, as in `y_plus`")
    pair = np.stack([plus, minus])
    return gamma_components(pair @ pair.T)


@entry()
def log_evidence_of_two(kernel: GammaComponents, y_plus: Any, y_minus: Any) -> float:
    r"""Two inputs, by the components of kernel and targets, PDLT (6.46), (6.48):

    $$p = (4\pi^2\Delta)^{-n_L/2}\exp\Big[-\frac{4K_{[0]}Y_{[2]} + 4K_{[2]}Y_{[0]} - 2K_{[1]}Y_{[1]}}{2\Delta}\Big],\qquad
      \Delta = 4K_{[0]}K_{[2]} - K_{[1]}^2 .$$

    For equal norms, $K_{[1]} = 0$, a product of two, PDLT (6.42), (6.45):
    $p = (16\pi^2K_{[0]}K_{[2]})^{-n_L/2}\exp\big(-\frac{Y_{[0]}}{2K_{[0]}}-\frac{Y_{[2]}}{2K_{[2]}}\big)$, each factor largest at
    $K_{[a]} = Y_{[a]}/n_L$. The kernel's components are those of `critical.gamma_components`.

    Examples:
        >>> components = fw.critical.gamma_components([[1.0, 0.0], [0.0, 1.0]])
        >>> round(fw.learning.log_evidence_of_two(components, [0.0], [0.0]), 6)
        -1.837877
    """
    Y, outputs = label_components(y_plus, y_minus), _outputs(y_plus, "y_plus").size
    K_0, K_1, K_2 = (float(part) for part in (kernel.K_0, kernel.K_1, kernel.K_2))
    determinant = _positive(4 * K_0 * K_2 - K_1**2, "kernel", "the determinant 4 K_0 K_2 - K_1^2")
    exponent = 4 * K_0 * Y.K_2 + 4 * K_2 * Y.K_0 - 2 * K_1 * Y.K_1
    return float(-outputs / 2 * np.log(_TWO_PI**2 * determinant) - exponent / (2 * determinant))


def _outputs(y: Any, argument: str) -> Float[np.ndarray, " n_L"]:
    targets = np.atleast_1d(np.asarray(as_floats(y, argument)))
    if targets.ndim != 1 or targets.size == 0:
        raise ShapeError(argument, f"shape {targets.shape}", "the outputs for one input, shape (n_L,)")
    return targets


def _positive(value: Any, argument: str, what: str = "") -> float:
    number = as_number(value, argument)
    if number <= 0:
        raise DomainError(argument, f"{what + ' = ' if what else ''}{number:g}", "a positive number")
    return number
