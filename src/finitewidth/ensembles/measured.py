"""What an ensemble of networks has shown, in the names and normalisation of the theory."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from ..networks import MLP
from .moments import Moments, covariance, mean_deviation


class Measurement(eqx.Module):
    """Figures with their standard errors."""

    mean: Float[np.ndarray, "..."]
    standard_error: Float[np.ndarray, "..."]

    def __getitem__(self, index: Any) -> "Measurement":
        """The same part of both: `measured.K[2]` is layer three."""
        return Measurement(self.mean[index], self.standard_error[index])


class MeasuredFlow(eqx.Module):
    r"""Statistics of the metrics $\widehat G^{(\ell)}$ over an ensemble of networks, layer $\ell$ at index $\ell-1$.

    The first layer's metric is the same in every network: there `V` and `G1` are zero without error.
    """

    K: Measurement
    r"""$E[\widehat G^{(\ell)}_{\alpha\beta}]$, the mean metric PDLT (4.72), shape (L, N, N). Theory's $K$ is its limit
    at infinite width, $K + G^{\{1\}}/n_{\ell-1}$ its value to the next order."""
    V: Measurement
    r"""$n_{\ell-1}\,\mathrm{Cov}(\widehat G^{(\ell)}_{\alpha\beta}, \widehat G^{(\ell)}_{\gamma\delta})$, PDLT (4.76),
    shape (L, N, N, N, N)."""
    G1: Measurement
    r"""$n_{\ell-1}\,(E[\widehat G^{(\ell)}_{\alpha\beta}] - K^{(\ell)}_{\alpha\beta})$, PDLT (4.104),
    shape (L, N, N)."""
    widths: tuple[int, ...] = eqx.field(static=True)
    networks: int = eqx.field(static=True)
    seed: int = eqx.field(static=True)
    method: str = eqx.field(static=True)


def pairs_of(samples: int) -> tuple[np.ndarray, np.ndarray]:
    """The unordered pairs of samples, in the order in which metrics are packed into vectors."""
    return np.triu_indices(samples)


def measured_flow(
    net: MLP, kernels: Float[Array, "L N N"], moments: Moments | None, *, networks: int, seed: int, method: str
) -> MeasuredFlow:
    """The statistics of layers 2..L, taken about their infinite-width `kernels`, with the first layer before them.

    `moments` is `None` for a network of one layer, where nothing fluctuates.
    """
    limit = np.asarray(kernels)
    layers, samples = limit.shape[:2]
    a, b = pairs_of(samples)
    position = np.zeros((samples, samples), dtype=int)
    position[a, b] = position[b, a] = np.arange(len(a))

    G1 = np.zeros((2, layers, len(a)))
    V = np.zeros((2, layers, len(a), len(a)))
    widths = np.asarray([1, *net.hidden_widths])
    if moments is not None:
        G1[:, 1:] = mean_deviation(moments)
        V[:, 1:] = covariance(moments)
    deviation, error = G1[..., position]
    G1, V = G1 * widths[:, None], V * widths[:, None, None]
    return MeasuredFlow(
        K=Measurement(limit + deviation, error),
        V=Measurement(*V[..., position[:, :, None, None], position]),
        G1=Measurement(*G1[..., position]),
        widths=net.widths,
        networks=networks,
        seed=seed,
        method=method,
    )
