"""Networks of infinite width, whose neurons are independent Gaussians: entropies and what samples tell of one another."""

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from .._entry import entry
from .._errors import DomainError
from .._validation import as_count, as_covariance
from ..results import Flow


@entry()
def gaussian_entropy(K: Any, neurons: int = 1) -> float:
    r"""$\mathcal S = \frac m2\log|2\pi eK|$ of $m$ neurons on a set of samples, PDLT (A.26), in nats. It depends on the units of the
    signal, PDLT (A.20); what neurons or samples tell of one another does not.

    Examples:
        >>> round(fw.entropies.gaussian_entropy([[1.0]]), 6)
        1.418939
    """
    kernel = _as_regular(K, "K")
    m = as_count(neurons, "neurons")
    return m / 2 * (len(kernel) * math.log(2 * math.pi * math.e) + float(np.linalg.slogdet(kernel)[1]))


@entry()
def sample_information(K: Any, neurons: int = 1) -> Float[np.ndarray, "N N"]:
    r"""What two samples tell of one another through $m$ neurons, for all pairs of them:
    $I = \frac m2\log\frac{K_{++}K_{--}}{K_{++}K_{--}-K_{+-}^2}$, PDLT (A.28)-(A.29), and infinity where they coincide.

    Examples:
        >>> fw.entropies.sample_information([[1.0, 0.6], [0.6, 1.0]])[0, 1].round(6).item()
        0.223144
    """
    kernel = np.asarray(as_covariance(K, "K"))
    sizes = np.diagonal(kernel)
    if not (sizes > 0).all():
        raise DomainError("K", "a sample of no variance", "positive variances")
    squared = np.clip(kernel**2 / np.outer(sizes, sizes), 0.0, 1.0)
    np.fill_diagonal(squared, 1.0)
    with np.errstate(divide="ignore"):
        return -as_count(neurons, "neurons") / 2 * np.log1p(-squared)


def samples_to_next_order(theory: Flow[Any]) -> tuple[Float[np.ndarray, " L"], Float[np.ndarray, " L"]]:
    r"""What the first two samples tell of one another through one neuron, layer by layer: PDLT (A.28), and with $K + G^{\{1\}}/n$ in it."""
    K, shift = np.asarray(theory.K), np.asarray(theory.g1)
    a, b, c = K[:, 0, 0], K[:, 1, 1], K[:, 0, 1]
    squared = c**2 / (a * b)
    change = 2 * c * shift[:, 0, 1] / (a * b) - squared * (shift[:, 0, 0] / a + shift[:, 1, 1] / b)
    leading = np.array([sample_information(layer)[0, 1] for layer in K])
    if not np.isfinite(leading).all():
        raise DomainError("x", "two samples that coincide, or are opposite", "samples that differ, or one sample")
    return leading, leading + change / (2 * (1 - squared))


def _as_regular(K: Any, argument: str) -> np.ndarray:
    kernel = np.asarray(as_covariance(K, argument))
    if np.linalg.slogdet(kernel)[0] <= 0:
        raise DomainError(argument, "a singular kernel, of infinite negative entropy", "samples that differ")
    return kernel
