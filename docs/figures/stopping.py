"""Stopping times of networks with large inputs, for Shaped Transformer figures 5 and 8."""

import numpy as np
from jaxtyping import Float

from finitewidth.ensembles import simulate
from finitewidth.networks.shaped import ShapedAttention, equal_tokens
from finitewidth.results import CovarianceLaw

WIDTH = DEPTH = 200
NETWORKS = 100
LOW, HIGH = 1e-4, 1e4


def adversarial(gamma: float, tau0: float = 1.0) -> CovarianceLaw:
    """Networks whose tokens start a hundred times too large (four of them, n_k = 50)."""
    block = ShapedAttention(gamma, tau0, key_width=50)
    start = 100 * equal_tokens(4, 0.2)
    return simulate(block.at(WIDTH, DEPTH), start, networks=NETWORKS, save=DEPTH, radius=1e8)


def eigenvalues(law: CovarianceLaw) -> Float[np.ndarray, "networks layers m"]:
    """Of the covariance, smallest first."""
    return np.linalg.eigvalsh(law.V)


def stopping_times(law: CovarianceLaw) -> Float[np.ndarray, " networks"]:
    """The depth over width at which an eigenvalue leaves the range, at most one."""
    found = eigenvalues(law)
    outside = (found[..., -1] > HIGH) | (found[..., 0] < LOW)
    first = np.where(outside.any(axis=1), outside.argmax(axis=1), DEPTH)
    return first / WIDTH
