r"""Linear dynamics of the training outputs, one direction at a time: $\widetilde\Theta$ in its eigenbasis.

With the loss $\frac12\sum\kappa^{ab}(z_a-y_a)(z_b-y_b)$, PDLT (10.22), $\kappa = CC^T$ and $C^T\widetilde\Theta C = V\mu V^T$, every
algorithm that only knows gradients multiplies the error along direction $k$ by a number that depends on $\mu_k$ alone,
and moves test outputs by $-\Theta_{\mathcal{BA}}\,Q\,(z_{\mathcal A}-y)$, $Q = \sum_k CV_k\,q(\mu_k)\,(CV_k)^T$.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from jaxtyping import Float

from ..._errors import DomainError
from ..positive_solve import KNOWN_TO

Values = Float[np.ndarray, " N_train"]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues from the smallest to the largest, those of rounding set to zero, and the directions $CV_k$ as columns."""

    values: Values
    directions: Float[np.ndarray, "N_train N_train"]
    kappa: Float[np.ndarray, "N_train N_train"] | None = None


def spectrum(
    theta: Float[np.ndarray, "N_train N_train"], kappa: Float[np.ndarray, "N_train N_train"] | None = None
) -> Spectrum:
    r"""Of $\widetilde\Theta$, or of $\widetilde\Theta$ seen through $\kappa$."""
    root = None if kappa is None else scipy.linalg.cholesky(kappa, lower=True)
    seen = theta.T if root is None else root.T @ theta @ root  # of a symmetric matrix, in LAPACK's order
    driver = "evd" if len(seen) > 1 else "ev"  # for which SciPy 1.13 reserves too little where there is one number
    values, vectors = scipy.linalg.eigh(seen, driver=driver, check_finite=False)
    if values[0] < -1e-8 * values[-1]:
        raise DomainError(
            "kernel", f"a tangent kernel with eigenvalue {values[0]:.3g}", "a positive semi-definite matrix"
        )
    values = np.where(values > rounding(values[-1]), values, 0.0)
    return Spectrum(values, vectors if root is None else root @ vectors, kappa)


def rounding(largest: float) -> float:
    """Below which an eigenvalue of a kernel cannot be told from zero."""
    return KNOWN_TO * float(largest)


@dataclass(frozen=True)
class FlowFilter:
    r"""Gradient flow: the error decays as $e^{-\mu t}$, to nothing at $t = \infty$ where there is any $\mu$ at all."""

    def remaining(self, values: Values, time: float) -> Values:
        r"""$e^{-\mu t}$."""
        return np.where(values > 0, np.exp(-_times(values, time)), 1.0)

    def gain(self, values: Values, time: float) -> Values:
        r"""$(1-e^{-\mu t})/\mu$."""
        share = -np.expm1(-_times(values, time))
        return _over(share, values, time)


@dataclass(frozen=True)
class DescentFilter:
    r"""Gradient descent: each step multiplies the error by $1-\eta\mu$. Time is $\eta$ times the number of steps."""

    rate: float

    def remaining(self, values: Values, time: float) -> Values:
        r"""$(1-\eta\mu)^{t/\eta}$."""
        return np.where(values > 0, self._power(values, time), 1.0)

    def gain(self, values: Values, time: float) -> Values:
        r"""$[1-(1-\eta\mu)^{t/\eta}]/\mu$."""
        if np.isinf(time):
            return _over(np.ones_like(values), values, time)
        step = self.rate * values
        slowly = -np.expm1(
            self._steps(time) * np.log1p(-np.minimum(step, 0.5))
        )  # which loses no digits of small shares
        return _over(np.where(step <= 0.5, slowly, 1 - self._power(values, time)), values, time)

    def _power(self, values: Values, time: float) -> Values:
        return np.zeros_like(values) if np.isinf(time) else (1 - self.rate * values) ** self._steps(time)

    def _steps(self, time: float) -> int:
        return round(time / self.rate)


Filter = FlowFilter | DescentFilter
r"""What an algorithm does along one eigendirection: the share of the error that is `remaining`, and the `gain`
$q(\mu) = (1-\text{remaining})/\mu$ or its limit at zero."""


def _times(values: Values, time: float) -> Values:
    """$\\mu t$, zero where $\\mu$ is, at infinite time too."""
    return np.where(values > 0, values, 0.0) * time if np.isfinite(time) else np.where(values > 0, np.inf, 0.0)


def _over(share: Values, values: Values, time: float) -> Values:
    """Divided by the eigenvalue; at zero nothing is learned, but at a finite time it is the time itself, as a limit."""
    at_zero = time if time * rounding(values[-1]) < 1 else 0.0
    return np.divide(share, values, out=np.full_like(values, at_zero), where=values > 0)
