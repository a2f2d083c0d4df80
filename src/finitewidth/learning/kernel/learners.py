r"""Ways to learn squared errors at infinite width. All are linear: $z_{\mathcal B}(t) = z_{\mathcal B} - M(t)\,(z_{\mathcal A}-y)$ with
$M = \Theta_{\mathcal{BA}}Q(t)$, and differ in $Q$ alone; at the end $Q = \widetilde\Theta^{-1}$ for all, PDLT (10.33)-(10.35)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from jaxtyping import Float

from ..._errors import DomainError
from ..positive_solve import PositiveSolve
from .posterior import bayesian_posterior, before_training, generalised_posterior
from .spectrum import Filter, FlowFilter, Spectrum, rounding, spectrum
from .train_test import TrainTestKernels

Moment = tuple[Float[np.ndarray, "N_test n_L"], Float[np.ndarray, "N_test N_test"], float]
"""Mean and covariance of test outputs over initialisations, and the mean loss of training."""


@dataclass(frozen=True, eq=False)
class SpectralLearner:
    """Any time at once, in the eigenbasis: gradient flow and gradient descent."""

    kernels: TrainTestKernels
    spectrum: Spectrum
    filter: Filter

    def moments(self, y: Float[np.ndarray, "N_train n_L"], times: Sequence[float]) -> Iterator[Moment]:
        r"""At each of `times`; the loss is $\frac12\sum_kr_k^2(t)\,\big[(y_k)^2 + n_LK_{kk}\big]$ in the eigenbasis."""
        values, directions = self.spectrum.values, self.spectrum.directions
        seen, error = self.kernels.Theta_cross @ directions, np.sum((directions.T @ y) ** 2, axis=1)
        spread = self._spread() if sum(0 < time < np.inf for time in times) > 1 else None
        for time in times:
            if time == 0:
                yield *before_training(self.kernels, y), _first_loss(self.kernels, y, self.spectrum.kappa)
                continue
            left, gain = (share(values, time) for share in (self.filter.remaining, self.filter.gain))
            first = self._spread_left(left) if spread is None else float(left**2 @ spread)
            readout = (seen * gain) @ directions.T
            loss = (float(left**2 @ error) + y.shape[1] * first) / 2
            yield *generalised_posterior(self.kernels, readout, y), loss

    def _spread(self) -> Float[np.ndarray, " N_train"]:
        """$K_{kk}$, from which the loss of any number of moments follows."""
        directions = self.spectrum.directions
        return np.sum(directions * (self.kernels.K_train @ directions), axis=0)

    def _spread_left(self, left: Float[np.ndarray, " N_train"]) -> float:
        r"""$\sum_kr_k^2K_{kk}$ at one moment as $\mathrm{tr}\,K\sum_kr_k^2v_kv_k^T$: half the work, as that sum is symmetric."""
        weighted = self.spectrum.directions[:, left > 0] * left[left > 0]
        return float(np.sum(self.kernels.K_train * (weighted @ weighted.T)))


@dataclass(frozen=True, eq=False)
class EndLearner:
    r"""Before anything, and at the end: $Q = \widetilde\Theta^{-1}$, PDLT (10.31), (10.39), by one Cholesky factor."""

    kernels: TrainTestKernels

    def moments(self, y: Float[np.ndarray, "N_train n_L"], times: Sequence[float]) -> Iterator[Moment]:
        """At time zero, and at any later one, which is the end."""
        for time in times:
            if time == 0:
                yield *before_training(self.kernels, y), _first_loss(self.kernels, y)
            else:
                yield self._end(y)

    def _end(self, y: Float[np.ndarray, "N_train n_L"]) -> Moment:
        factor = _factor(self.kernels.Theta_train)
        if factor is None:  # the pseudo-inverse, which is where gradients lead
            learner = SpectralLearner(self.kernels, spectrum(self.kernels.Theta_train), FlowFilter())
            return next(learner.moments(y, (np.inf,)))
        if self.kernels.Theta is self.kernels.K:
            half = factor.whiten(self.kernels.K_cross.T)
            return *bayesian_posterior(self.kernels, half, factor.whiten(y)), 0.0
        return *generalised_posterior(self.kernels, factor.solve(self.kernels.Theta_cross.T).T, y), 0.0


@dataclass(frozen=True, eq=False)
class BatchLearner:
    r"""Stochastic gradient descent, step by step: the samples $\mathcal S_t$ of a batch move everyone,
    $Q \leftarrow Q + \eta\,1_{\mathcal S_t}(1-\widetilde\Theta Q)$, PDLT (7.10)."""

    kernels: TrainTestKernels
    rate: float
    batches: tuple[tuple[int, ...], ...]

    def moments(self, y: Float[np.ndarray, "N_train n_L"], times: Sequence[float]) -> Iterator[Moment]:
        """After the numbers of steps that `times` are multiples of the rate of."""
        theta, size = self.kernels.Theta_train, len(y)
        Q, left = np.zeros((size, size)), np.eye(size)
        steps = [round(time / self.rate) for time in times]
        for step in range(steps[-1] + 1):
            if step in steps:
                error = np.sum((left @ y) ** 2) + y.shape[1] * np.sum((left @ self.kernels.K_train) * left)
                yield *generalised_posterior(self.kernels, self.kernels.Theta_cross @ Q, y), float(error) / 2
            if step < steps[-1]:
                seen = list(self.batches[step])
                change = self.rate * left[seen]
                Q[seen] += change
                left -= theta[:, seen] @ change


Learner = SpectralLearner | EndLearner | BatchLearner


def check_stable(
    largest: float, rate: float, where: str, most: float = 2.0, kernel: str = "the tangent kernel"
) -> None:
    r"""`DomainError` unless $\eta < 2/\lambda_{\max}$: beyond it errors along the first eigenvector grow at every step."""
    if rate * largest >= most:
        want = (
            f"less than {most:g}/lambda_max = {most / largest:.6g}, lambda_max = {largest:.6g} of {kernel} on {where}"
        )
        raise DomainError("rate", f"{rate:.6g}", want)


def largest_eigenvalue(theta: Float[np.ndarray, "N N"]) -> float:
    """Of a symmetric matrix."""
    return float(np.linalg.eigvalsh(theta)[-1])


def _first_loss(
    kernels: TrainTestKernels,
    y: Float[np.ndarray, "N_train n_L"],
    kappa: Float[np.ndarray, "N_train N_train"] | None = None,
) -> float:
    r"""The mean of $\frac12\sum\kappa^{ab}(z_a-y_a)(z_b-y_b)$ over first outputs."""
    if kappa is None:
        return float(np.sum(y**2) + y.shape[1] * np.trace(kernels.K_train)) / 2
    return float(np.sum(y * (kappa @ y)) + y.shape[1] * np.sum(kappa * kernels.K_train)) / 2


def _factor(theta: Float[np.ndarray, "N_train N_train"]) -> PositiveSolve | None:
    r"""Of $\widetilde\Theta$; nothing if it is singular to rounding."""
    norm = float(np.abs(theta).sum(axis=0).max())
    factor, failed = scipy.linalg.lapack.dpotrf(
        np.array(theta.T, order="F"), lower=1, clean=0, overwrite_a=1
    )  # a copy, in LAPACK's order
    if failed:
        return None
    least = float(np.diagonal(factor).min()) ** 2  # the least pivot, near the least eigenvalue
    return PositiveSolve(factor, 0.0, norm / least) if least > rounding(norm) else None
