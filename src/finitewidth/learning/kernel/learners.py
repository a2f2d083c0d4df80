r"""Ways to learn squared errors at infinite width. All are linear: $z_{\mathcal B}(t) = z_{\mathcal B} - M(t)\,(z_{\mathcal A}-y)$ with
$M = \Theta_{\mathcal{BA}}Q(t)$, and differ in $Q$ alone; at the end $Q = \widetilde\Theta^{-1}$ for all, PDLT (10.33)-(10.35)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from jaxtyping import Float

from ..._errors import DomainError
from .spectrum import Filter, FlowFilter, Spectrum, rounding, spectrum
from .train_test import TrainTestKernels

Readout = Float[np.ndarray, "N_test N_train"]
Moment = tuple[Readout, float]
"""$M$ and the mean loss of training."""


@dataclass(frozen=True, eq=False)
class SpectralLearner:
    """Any time at once, in the eigenbasis: gradient flow and gradient descent."""

    kernels: TrainTestKernels
    spectrum: Spectrum
    filter: Filter

    def moments(self, y: Float[np.ndarray, "N_train n_L"], times: Sequence[float]) -> Iterator[Moment]:
        r"""At each of `times`; the loss is $\frac12\sum_kr_k^2(t)\,\big[(y_k)^2 + n_LK_{kk}\big]$ in the eigenbasis."""
        values, directions = self.spectrum.values, self.spectrum.directions
        seen = self.kernels.Theta_cross @ directions
        error = np.sum((directions.T @ y) ** 2, axis=1)
        error += y.shape[1] * np.einsum("ak,ab,bk->k", directions, self.kernels.K_train, directions, optimize=True)
        for time in times:
            left = self.filter.remaining(values, time)
            yield (seen * self.filter.gain(values, time)) @ directions.T, float(left**2 @ error) / 2


@dataclass(frozen=True, eq=False)
class EndLearner:
    r"""Before anything, and at the end: $Q = \widetilde\Theta^{-1}$, PDLT (10.31), (10.39), by one Cholesky factor."""

    kernels: TrainTestKernels

    def moments(self, y: Float[np.ndarray, "N_train n_L"], times: Sequence[float]) -> Iterator[Moment]:
        """At time zero, and at any later one, which is the end."""
        theta, cross = self.kernels.Theta_train, self.kernels.Theta_cross
        start = (np.sum(y**2) + y.shape[1] * np.trace(self.kernels.K_train)) / 2
        readout = np.zeros_like(cross)
        for time in times:
            if time > 0:
                solved = _solved(theta, cross)
                if solved is None:  # the pseudo-inverse, which is where gradients lead
                    learner = SpectralLearner(self.kernels, spectrum(theta), FlowFilter())
                    yield from learner.moments(y, (np.inf,))
                    continue
                readout, start = solved, 0.0
            yield readout, float(start)


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
                yield self.kernels.Theta_cross @ Q, float(error) / 2
            if step < steps[-1]:
                seen = list(self.batches[step])
                change = self.rate * left[seen]
                Q[seen] += change
                left -= theta[:, seen] @ change


Learner = SpectralLearner | EndLearner | BatchLearner


def check_stable(theta: Float[np.ndarray, "N N"], rate: float, what: str, most: float = 2.0) -> None:
    r"""`DomainError` unless $\eta < 2/\lambda_{\max}$: beyond it errors along the first eigenvector grow at every step."""
    largest = float(np.linalg.eigvalsh(theta)[-1])
    if rate * largest >= most:
        want = f"less than {most:g}/lambda_max = {most / largest:.6g}, lambda_max = {largest:.6g} of the tangent kernel on {what}"
        raise DomainError("rate", f"{rate:.6g}", want)


def _solved(theta: Float[np.ndarray, "N_train N_train"], cross: Readout) -> Readout | None:
    r"""$\Theta_{\mathcal{BA}}\widetilde\Theta^{-1}$; nothing if $\widetilde\Theta$ is singular to rounding."""
    try:
        factor = scipy.linalg.cho_factor(theta, lower=True)
    except np.linalg.LinAlgError:
        return None
    if np.diagonal(factor[0]).min() ** 2 <= rounding(
        float(np.linalg.norm(theta, 1))
    ):  # the least pivot, near the least eigenvalue
        return None
    return scipy.linalg.cho_solve(factor, cross.T).T
