r"""The quadratic model in the picture of its samples: nearly-kernel methods."""

import math
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import ArgumentError, DomainError, ShapeError
from ..._result import Result
from ..._validation import as_covariance, as_floats, as_number
from ..end_of_training.algorithm import as_pace, positive_spectrum
from ..end_of_training.chains import Pace
from ..end_of_training.projectors import Projectors
from ..kernel.learners import check_stable
from ..kernel.train_test import as_targets

METHODS = ("direct", "gradient_descent", "gradient_flow", "ridge", "trained_kernel")
_ROUNDING = 1e-10


class NearlyKernel(Result, eqx.Module):
    r"""Predictions on test inputs, to first order in the meta kernel, in parts that add up to `mean`.

    With $v = \tilde k^{-1}y$ at the end of training, $\mathcal D^{(1)}_{\beta;ab} = \mu_{\beta ab} - k_{\beta c}\tilde k^{cd}\mu_{dab}$ and
    $\mathcal D^{(2)}_{\beta;ab} = \mu_{a\beta b} - k_{\beta c}\tilde k^{cd}\mu_{adb}$.
    """

    kernel_part: Float[Array, "N_test n_L"]
    r"""$k_{\beta a}v_a$, PDLT (11.128): the kernel method alone."""
    meta_part: Float[Array, "N_test n_L"]
    r"""$\frac12\mathcal D^{(1)}_{\beta;ab}v_av_b$, which at the end of training every method has, PDLT (11.132)."""
    algorithm_part: Float[Array, "N_test n_L"]
    r"""$\mathcal D^{(2)}_{\beta;ab}Z_A^{ab}y_ay_b$, where methods differ, PDLT (11.133)-(11.136); none for `"direct"`."""
    effective_kernel: Float[Array, "n_L N N"]
    r"""$k^E_{ii;\delta_1\delta_2} = k_{\delta_1\delta_2} + (\mu_{\delta_1\delta_2a}+\mu_{\delta_2\delta_1a})v_{ia}$ of the features as
    they are after training, PDLT (11.137)-(11.138); at [output, sample, sample]."""
    trained_kernel: Float[Array, "n_L N N"]
    r"""$k^\sharp = \frac12(k + k^E)$, PDLT (11.139)-(11.140); kernel regression with it is the method `"trained_kernel"`."""
    size: float = eqx.field(static=True)
    """The largest correction relative to the largest output of the kernel part: where it is not small, the next order is not either."""

    @property
    def mean(self) -> Float[Array, "N_test n_L"]:
        """The prediction."""
        return self.kernel_part + self.meta_part + self.algorithm_part


@entry()
def nearly_kernel(
    k: Any,
    mu: Any,
    y: Any,
    method: str = "direct",
    *,
    rate: float | None = None,
    steps: int | None = None,
    time: float = math.inf,
    ridge: float = 0.0,
) -> NearlyKernel:
    r"""What a quadratic model with kernel $k$ and meta kernel $\mu$ predicts from targets, to first order in $\mu$, PDLT (11.125)-(11.142):

    $$z_\beta = k_{\beta a}\tilde k^{ab}y_b
      + \tfrac12\mathcal D^{(1)}_{\beta;ab}v_av_b + \mathcal D^{(2)}_{\beta;ab}Z_A^{ab}y_ay_b + O(\mu^2).$$

    All that interpolate share the first two terms. They differ in the last, by what they learn outside the span of the training
    features, with $\kappa_a$ the eigenvalues of $\tilde k$:

    | method | $Z_A^{ab}$ |
    |---|---|
    | `"direct"`, PDLT (11.132): nothing outside the span | 0 |
    | `"trained_kernel"`, PDLT (11.142): kernel regression with $k^\sharp$ | $1/2\kappa_a\kappa_b$ |
    | `"ridge"`: the least $\frac12\sum(z-y)^2 + a\sum W^2$, at $a\to0$ of least norm | $1/\kappa_a\kappa_b$ |
    | `"gradient_descent"` from zero, PDLT (11.133)-(11.136) | $(1-\eta\kappa_a)/\kappa_a(\kappa_a+\kappa_b-\eta\kappa_a\kappa_b)$ |
    | `"gradient_flow"` from zero | $1/\kappa_a(\kappa_a+\kappa_b)$ |

    The book takes the first, the second and the third for one and the same: see the errata.

    **Arguments:**

    - `k`: $k_{\delta_1\delta_2}$ on training inputs first and then test inputs; positive on the former.
    - `mu`: $\mu_{\delta_0\delta_1\delta_2}$ on the same inputs, symmetric in the last two; the first belongs to the meta feature.
    - `y`: targets (N_train, n_L); outputs learn independently.
    - `rate`, `steps`: of `"gradient_descent"`, to the end unless steps are given. `time`: of `"gradient_flow"`. `ridge`: $a$ of `"ridge"`.

    Examples:
        >>> k, mu = np.array([[1.0, 0.5], [0.5, 1.0]]), np.full((2, 2, 2), 0.1)
        >>> found = fw.nearly_kernel(k, mu, [2.0])
        >>> found.kernel_part.tolist(), found.meta_part.round(6).tolist()
        ([[1.0]], [[0.1]])
    """
    pace, _ = as_pace(method, rate, steps, time, METHODS, "method")
    kernel, meta, targets = _checked(k, mu, y)
    trained, penalty = len(targets), as_number(ridge, "ridge", low=0.0)
    if penalty and method != "ridge":
        raise ArgumentError("ridge", f"a value with method {method!r}", "none: only 'ridge' has one")
    values, vectors = positive_spectrum(kernel[:trained, :trained] + 2 * penalty * np.eye(trained), "k", "a kernel")
    if pace.rate:
        check_stable(float(values.max()), pace.rate, "the training inputs", kernel="`k`")
    turn = np.eye(len(kernel))
    turn[:trained, :trained] = vectors
    mixed = np.einsum("pa,qb,rc,pqr->abc", turn, turn, turn, meta, optimize=True)
    projectors = Projectors(values, len(kernel) - trained, pace)
    e = vectors.T @ targets
    first, Z_A, Z_B = projectors.first(), _outside(projectors, method), projectors.Z_B()
    cross = (turn.T @ kernel @ turn)[trained:, :trained]
    readout = np.concatenate([-cross, np.eye(len(cross))], axis=1)
    train = slice(None, trained)
    meta_part = readout @ np.einsum("pab,abp,ai,bi->pi", mixed[:, train, train], Z_B, e, e, optimize=True)
    outside = readout @ np.einsum("apb,abp,ai,bi->pi", mixed[train, :, train], Z_A, e, e, optimize=True)
    v = vectors @ (first[:, -1:] * e)
    felt = np.einsum("pqa,ai->ipq", meta[:, :, train], v, optimize=True)
    kernel_part = cross @ (first[:, -1:] * e)
    largest = float(np.abs(np.concatenate([kernel_part, targets])).max())
    size = float(np.abs(meta_part + outside).max()) / largest if largest else 0.0
    moved = felt + np.swapaxes(felt, 1, 2)
    return NearlyKernel(kernel_part, meta_part, outside, kernel + moved, kernel + moved / 2, size)


def _outside(projectors: Projectors, method: str) -> Float[np.ndarray, "A A D"]:
    """$Z_A$: what is learned outside the span of training features."""
    if method.startswith("gradient"):
        return projectors.Z_A()
    share = {"direct": 0.0, "trained_kernel": 0.5, "ridge": 1.0}[method]
    return share * Projectors(projectors.values, projectors.tests, Pace()).second()


def _checked(
    k: Any, mu: Any, y: Any
) -> tuple[Float[np.ndarray, "N N"], Float[np.ndarray, "N N N"], Float[np.ndarray, "A n_L"]]:
    kernel, meta = np.asarray(as_covariance(k, "k")), np.asarray(as_floats(mu, "mu"))
    if meta.shape != (len(kernel),) * 3:
        raise ShapeError("mu", f"shape {meta.shape}", f"shape {(len(kernel),) * 3}: three inputs of `k`")
    if np.abs(meta - np.swapaxes(meta, 1, 2)).max() > _ROUNDING * np.abs(meta).max():
        raise DomainError("mu", "a tensor that is not symmetric in its last two inputs", "one that is")
    array = np.asarray(as_floats(y, "y"))
    if array.ndim not in (1, 2) or 0 in array.shape or not len(array) < len(kernel):
        raise ShapeError("y", f"shape {array.shape}", f"(N_train, n_L) with fewer than the {len(kernel)} inputs of `k`")
    return kernel, meta, as_targets(array)
