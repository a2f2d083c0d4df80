r"""Learning by cross-entropy at infinite width: $\dot z_\delta = -\sum_a\Theta_{\delta a}(q_a-p_a)$ with $q = \mathrm{softmax}(z)$.

Not linear on the way, so first outputs are drawn from their Gaussian law and each is followed; linear again at the end.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from jaxtyping import Float

from ..._errors import DomainError
from ...results import Measurement
from .learners import EndLearner
from .train_test import TrainTestKernels

_MOST_EVALUATIONS = 1e6  # of the velocity, which an explicit method needs about lambda_max times t of
_ACCURACY = 1e-9


@dataclass(frozen=True, eq=False)
class SampledOutputs:
    """Outputs on test inputs and the loss of training at one time, for every draw of first outputs."""

    outputs: Float[np.ndarray, "samples N_test n_L"]
    losses: Float[np.ndarray, " samples"]

    def mean(self) -> Measurement:
        """Over draws."""
        return _mean(self.outputs)

    def covariance(self) -> Measurement:
        """Over draws, at [beta_1, beta_2, i, j]."""
        samples, tests, outputs = self.outputs.shape
        about = (self.outputs - self.outputs.mean(axis=0)).reshape(samples, -1)
        mean, square = about.T @ about / samples, (about**2).T @ about**2 / samples
        error = np.sqrt(np.maximum(square - mean**2, 0.0) / samples)
        axes = (tests, outputs, tests, outputs)
        covariance = mean * samples / (samples - 1)
        return Measurement(*(each.reshape(axes).transpose(0, 2, 1, 3) for each in (covariance, error)))

    def loss(self) -> Measurement:
        """Over draws."""
        return _mean(self.losses)


@dataclass(frozen=True, eq=False)
class SampledLearner:
    r"""Follows $\alpha = -\int(q-p)\,dt$, in which all outputs are linear: $z_\delta(t) = z_\delta(0) + \Theta_{\delta a}\alpha_a$."""

    kernels: TrainTestKernels
    targets: Float[np.ndarray, "N_train n_L"]
    first: Float[np.ndarray, "samples N n_L"]

    def flow(self, times: list[float]) -> Iterator[SampledOutputs]:
        """Gradient flow, integrated to a relative accuracy of 1e-9 (Dormand-Prince of order 8)."""
        fastest = float(np.linalg.eigvalsh(self.kernels.Theta_train)[-1])
        if fastest * times[-1] > _MOST_EVALUATIONS:
            want = f"at most {_MOST_EVALUATIONS / fastest:.3g} = 1e6/lambda_max with cross-entropy, or inf"
            raise DomainError("time", f"{times[-1]:.6g}", want)
        shape = (len(self.first), *self.targets.shape)

        def velocity(_: float, state: Float[np.ndarray, " size"]) -> Float[np.ndarray, " size"]:
            return -self._error(state.reshape(shape)).ravel()

        first = np.zeros(int(np.prod(shape)))
        found = scipy.integrate.solve_ivp(
            velocity, (0.0, times[-1]), first, "DOP853", t_eval=times, rtol=_ACCURACY, atol=_ACCURACY * 1e-2
        )
        for state in found.y.T:
            yield self._outputs(state.reshape(shape))

    def descend(
        self, rate: float, steps: list[int], batches: tuple[tuple[int, ...], ...] | None
    ) -> Iterator[SampledOutputs]:
        """Gradient descent, full or by batches."""
        alpha = np.zeros((len(self.first), *self.targets.shape))
        for step in range(steps[-1] + 1):
            if step in steps:
                yield self._outputs(alpha)
            if step < steps[-1]:
                seen = slice(None) if batches is None else list(batches[step])
                alpha[:, seen] -= rate * self._error(alpha)[:, seen]

    def _train(self, alpha: Float[np.ndarray, "samples N_train n_L"]) -> Float[np.ndarray, "samples N_train n_L"]:
        return self.first[:, : self.kernels.trained] + self.kernels.Theta_train @ alpha

    def _error(self, alpha: Float[np.ndarray, "samples N_train n_L"]) -> Float[np.ndarray, "samples N_train n_L"]:
        r"""$\epsilon = q - p$, PDLT (10.6)."""
        return scipy.special.softmax(self._train(alpha), axis=-1) - self.targets

    def _outputs(self, alpha: Float[np.ndarray, "samples N_train n_L"]) -> SampledOutputs:
        losses = -np.sum(self.targets * scipy.special.log_softmax(self._train(alpha), axis=-1), axis=(1, 2))
        return SampledOutputs(self.first[:, self.kernels.trained :] + self.kernels.Theta_cross @ alpha, losses)


def first_outputs(
    K: Float[np.ndarray, "N N"], outputs: int, samples: int, seed: int
) -> Float[np.ndarray, "samples N n_L"]:
    """Draws from the Gaussian law of outputs before training, by the symmetric root of the kernel."""
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return root @ np.random.default_rng(seed).normal(size=(samples, len(K), outputs))


def end_of_cross_entropy(
    kernels: TrainTestKernels, targets: Float[np.ndarray, "N_train n_L"]
) -> tuple[
    Float[np.ndarray, "N_test n_L"], Float[np.ndarray, "N_test N_test"], Float[np.ndarray, "N_test N_test n_L n_L"]
]:
    r"""Mean, sample covariance and wiring at the end of training, exactly.

    Training outputs end at $y_{i;a} + c_a$, $y = \log p$, PDLT (10.36)-(10.39). The sum over outputs, which training conserves as
    $\sum_i\epsilon_{i;a} = 0$, fixes $c_a = \frac1{n_L}\sum_i(z_{i;a}(0)-y_{i;a})$. So the average output stays as it was, and
    differences of outputs learn as with squared errors:

    $$m = M\Big(y - \tfrac1{n_L}\textstyle\sum_iy_i\Big),\qquad \mathrm{Cov} = \delta_{ij}C + \tfrac1{n_L}(K_{\mathcal{BB}} - C),$$

    $C$ the covariance of PDLT (10.41).
    """
    logits = np.log(targets)
    differences = logits - logits.mean(axis=1, keepdims=True)
    ((mean, covariance, _),) = EndLearner(kernels).moments(differences, (np.inf,))
    outputs = targets.shape[1]
    wiring = np.broadcast_to(
        ((kernels.K_test - covariance) / outputs)[..., None, None], (*covariance.shape, outputs, outputs)
    )
    return mean, covariance, np.array(wiring)


def first_loss(K_diagonal: Float[np.ndarray, " N_train"], outputs: int) -> float:
    r"""The mean cross-entropy before training, $\sum_aE\log\sum_ie^{z_i}$ over independent $z_i \sim N(0, K_{aa})$, by Frullani's
    integral $E\log S = \int du\,\big(e^{-e^u} - E[e^{-Se^u}]\big)$, in which outputs factorise."""
    z, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    deviation = np.sqrt(np.asarray(K_diagonal))[:, None]
    reach = 40.0 + 12.0 * float(deviation.max())
    u = np.linspace(-reach, reach, 4001)
    total = 0.0
    for sigma in deviation[:, 0]:
        one = np.exp(-np.exp(np.minimum(u[:, None] + sigma * z, 700.0))) @ weights
        total += float(np.trapezoid(np.exp(-np.exp(np.minimum(u, 700.0))) - one**outputs, u))
    return total


def _mean(values: Float[np.ndarray, "samples *shape"]) -> Measurement:
    count = len(values)
    return Measurement(np.asarray(values.mean(axis=0)), np.asarray(values.std(axis=0, ddof=1) / np.sqrt(count)))
