r"""Whether the mean metric to first order, $K + G^{\{1\}}/n$, is a covariance, as every mean metric of networks is.

It need not be one: where slopes jump, $G^{\{1\}}$ of two inputs at an angle $\psi$ grows as $1/\psi$, and an expansion in $1/n$ is one in
$1/(n\psi)$.
"""

import numpy as np
from jaxtyping import Float

from .._ratio import ratio_or_zero

_NEGATIVE = 1e-7  # of the mean squares: an eigenvalue further below zero is no rounding
_RESOLVED = 1e-12  # a kernel that is closer to singular does not say at which width the sum is a covariance


def why_no_covariance(K: Float[np.ndarray, "L N N"], G: Float[np.ndarray, "L N N"]) -> str | None:
    """In words, with its cure, of the layer where it is worst; `None` where all are covariances."""
    sizes = np.sqrt(np.diagonal(K, axis1=1, axis2=2))
    scale = sizes[:, :, None] * sizes[:, None, :]
    unit, infinite = np.asarray(ratio_or_zero(G, scale)), np.asarray(ratio_or_zero(K, scale))
    lowest = np.linalg.eigvalsh(unit)[:, 0]
    worst, bad = int(np.argmin(lowest)), lowest < -_NEGATIVE
    if not bad.any():
        return None
    what, cure = _what(unit[worst], infinite[worst], float(lowest[worst]))
    wider = _wider(infinite[bad], unit[bad])
    if wider is not None:
        factor = f"{wider:.3g}" if wider < 1000 else f"{wider:,.0f}"
        cure = f"{cure}, or more than {factor} times the width, from where on it is positive"
    return f"K + G1/n of layer {worst + 1} is not positive semi-definite: {what}. The expansion in 1/n is not to be trusted there: {cure}."


def _what(unit: Float[np.ndarray, "N N"], infinite: Float[np.ndarray, "N N"], lowest: float) -> tuple[str, str]:
    """The plainest sign of it, and what helps."""
    own = np.diagonal(unit)
    if own.min() < 0:
        what = f"the mean square of input {int(np.argmin(own))} would be {own.min():.3g} times that at infinite width"
        return what, "take fewer layers"
    roots = np.sqrt(own)
    correlation = np.triu(ratio_or_zero(unit, np.outer(roots, roots)), 1)
    a, b = np.unravel_index(np.argmax(np.abs(correlation)), correlation.shape)
    if abs(correlation[a, b]) > 1:
        what = f"inputs {a} and {b} would have a correlation of {correlation[a, b]:.8g}, at infinite width {infinite[a, b]:.8g}"
    else:
        what = f"an eigenvalue would be {lowest:.2g} times the mean square of an input"
    return what, "merge inputs that lie close together, take fewer layers"


def _wider(infinite: Float[np.ndarray, "l N N"], unit: Float[np.ndarray, "l N N"]) -> float | None:
    r"""The factor $f$ from which on all $K + G^{\{1\}}/(fn)$ are positive: minus the lowest eigenvalue of $K^{-1}G^{\{1\}}/n$."""
    eigenvalues, vectors = np.linalg.eigh(infinite)
    if eigenvalues.min() < _RESOLVED:
        return None
    white = vectors / np.sqrt(eigenvalues)[:, None, :]
    return -float(np.linalg.eigvalsh(np.swapaxes(white, 1, 2) @ (unit - infinite) @ white).min())
