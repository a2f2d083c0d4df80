r"""What an activation does at its kinks: jump, turn a corner, or rise with infinite slope.

One-sided limits are read at three distances in equal ratios and extrapolated as a constant and one power of the distance:
exact where the function is a power there, and where it is analytic on either side of the kink.
"""

import functools

import numpy as np
from jaxtyping import Float

from ...activations import Activation
from ...activations.sampling import size
from ...gaussian.derivatives import ORDERS, sampled

_DISTANCES = np.array([1e-6, 1e-9, 1e-12])  # in units of the kink, if it is larger than one
_JUMP = 1e-7  # relative to the size of the activation, or to the derivative there: less is not a jump
_GROWS = 0.01  # exponent with which a derivative must grow towards the kink to be called infinite
_DIVERGES = 0.499  # exponent of the slope from which on its square has no integral: one half, but for rounding


@functools.lru_cache(maxsize=128)
def limits(
    activation: Activation, at: tuple[float, ...]
) -> tuple[Float[np.ndarray, "orders points sides"], Float[np.ndarray, "orders points sides"]]:
    r"""All derivatives as each point is approached from the right and from the left, infinite ones as `inf`, and the exponents
    $\beta$ with which these grow, $|z - c|^{-\beta}$."""
    points = np.asarray(at, dtype=float)[:, None, None]
    step = _DISTANCES[:, None] * np.maximum(1.0, np.abs(points)) * np.array([1.0, -1.0])
    read = sampled(activation.value, (points + step).ravel()).reshape(ORDERS, len(at), 3, 2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        far, middle, near = read[..., 0, :], read[..., 1, :], read[..., 2, :]
        growth = np.log(np.abs(near / middle)) / np.log(_DISTANCES[1] / _DISTANCES[2])
        change = (near - middle) - (middle - far)
        extrapolated = near - (near - middle) ** 2 / change
    noise = 1e-12 * np.maximum(np.abs(near), np.abs(far))
    finite = np.where((np.abs(near - middle) > noise) & np.isfinite(extrapolated), extrapolated, near)
    grows = (growth > _GROWS) & (np.abs(middle) > np.abs(far)) & (np.abs(near) > size(activation.value))
    return np.where(grows, np.inf, finite), np.where(grows, growth, 0.0)


def _differs(activation: Activation, order: int) -> bool:
    if not activation.kinks:
        return False
    found, exponents = limits(activation, activation.kinks)
    right, left = found[order].T
    if (exponents[order] > 0).any():
        return True
    scale = np.maximum(size(activation.value), np.minimum(np.abs(right), np.abs(left)))
    # Where a kink lies is known to rounding: the next derivative turns that into a difference.
    steepness = np.where(np.isfinite(found[order + 1]), np.abs(found[order + 1]), 0.0).sum(axis=1)
    rounding = _DISTANCES[-1] * np.maximum(1.0, np.abs(activation.kinks)) * steepness
    return bool((np.abs(right - left) > np.maximum(_JUMP * scale, rounding)).any())


def jumps(activation: Activation) -> bool:
    """Whether the activation is discontinuous."""
    return _differs(activation, 0)


def has_corner(activation: Activation) -> bool:
    """Whether its slope jumps somewhere, or is infinite: then it is not analytic in the angle between two inputs."""
    return jumps(activation) or _differs(activation, 1)


def slope_diverges(activation: Activation) -> float | None:
    r"""The first kink at which the slope grows so fast that $\langle\sigma'^2\rangle$ is infinite, if there is one."""
    if not activation.kinks:
        return None
    exponents = limits(activation, activation.kinks)[1][1].max(axis=1)
    diverging = np.flatnonzero(exponents >= _DIVERGES)
    return float(activation.kinks[diverging[0]]) if len(diverging) else None
