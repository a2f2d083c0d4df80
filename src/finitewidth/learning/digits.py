"""How many digits of a correction survive a training kernel that is nearly singular.

Tensors are known to rounding, or to what their grids resolve; corrections multiply that by powers of the kernel's condition
number, the third and more, times numbers that no bound knows well. So what may have lost digits is computed again, with training
inputs in another order, the last digits of all inputs changed, and quadratures elsewhere, none of which changes anything in exact
arithmetic: what differs is the error.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from .._arrays import Array
from .positive_solve import reason

TOLERANCE = 1e-2
"""The error, relative to a correction, beyond which a warning is due: below it what is left out, of the next order, is larger."""
_LAST_DIGITS = 4 * float(np.finfo(float).eps)
_ZERO = 1e-9  # of what a correction is added to: one that is smaller is none, such as that on an input of training

Figures = Mapping[str, tuple[Array, float]]
"""Corrections by name, each with the size of what it is added to."""


def may_be_lost(condition: float, known_to: float) -> bool:
    """Whether errors of the tensors, times the third power of the condition number, could be seen."""
    return condition**3 * known_to > TOLERANCE


def rounded_anew(
    x: Float[np.ndarray, "D n_0"], trained: int
) -> tuple[Float[np.ndarray, "D n_0"], Int[np.ndarray, " A"]]:
    """The same inputs to the computer, the first of them in another order, which is returned."""
    order = np.roll(np.arange(trained), 1)  # backwards would be a symmetry of many data
    again = x * (1 + _LAST_DIGITS * np.random.default_rng(0).uniform(-1, 1, x.shape))
    return np.concatenate([again[order], again[trained:]]), order


def difference(found: Figures, again: Figures) -> float:
    """The largest difference of a figure, relative to it."""
    errors = [0.0]
    for name, (value, size) in found.items():
        change, own = np.linalg.norm(np.asarray(value - again[name][0])), np.linalg.norm(np.asarray(value))
        errors.append(float(change / max(own, _ZERO * size, np.finfo(float).tiny)))
    return min(max(errors), 1.0)  # beyond, nothing is left to lose


def lost(error: float, condition: float, kernel: Float[np.ndarray, "A A"]) -> str:
    """The first sentence of a warning: what happened, and why."""
    return (
        f"The corrections of order 1/n have lost their digits: computed again with inputs rounded anew they differ by "
        f"{f'{error:.2g} of themselves' if error < 1 else 'all that they are'}, for the kernel of the training inputs has a condition "
        f"number of {condition:.2g} ({reason(kernel, np.diagonal(kernel))})."
    )
