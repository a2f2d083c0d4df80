"""Inputs for a report that nobody has given inputs to, and how long to look at networks that see them."""

import numpy as np
from jaxtyping import Float

from ..critical import CriticalPoint
from ..networks import MLP, ResidualMLP

_NEURONS = 10_000_000  # drawn in all: a few seconds
_FEWEST, _MOST = 100, 20_000


def best_mean_square(point: CriticalPoint) -> float:
    r"""$|x|^2/n_0$ at which the first layer starts at a finite $K^\star$; if there is none, one, as data usually is."""
    return 1.0 if not point.K_star else (point.K_star - point.C_b) / point.C_W


def generic_inputs(features: int, mean_square: float) -> tuple[Float[np.ndarray, "N n_0"], str]:
    """Two inputs with correlation one half or close to it, and a description.

    Neither coincidence nor orthogonality hides anything then.
    """
    x = np.full((2, features), np.sqrt(mean_square))
    x[1, : max(1, features // 4)] *= -1
    correlation = float(x[0] @ x[1] / (x[0] @ x[0]))
    return x, f"two generic ones, mean square {mean_square:.4g}, correlation {correlation:.3g}"


def quick(net: MLP | ResidualMLP) -> int:
    """A number of networks that takes a few seconds to draw, whatever their widths."""
    return int(np.clip(_NEURONS // max(1, sum(net.hidden_widths)), _FEWEST, _MOST))
