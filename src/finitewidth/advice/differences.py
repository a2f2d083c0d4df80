r"""How small differences between inputs grow with depth, and with them gradients on their way back.

With $J$ the Jacobian between two layers of $n$ neurons, a random difference grows by $\frac1n\mathrm{tr}\,J^TJ$ in mean square, and a
random error on its way back by $\frac1n\mathrm{tr}\,JJ^T$, the same number: in MLPs $\prod\chi_\perp$, PDLT (5.54), (9.88). Differences can
be tried on any model, whether JAX can differentiate it or not.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._errors import ArgumentError

_STEP = 1e-3  # of the size of the inputs: as small as models in single precision can tell
_DIRECTIONS = 4  # averaged over, for each input
# Mean squares relative to those of signals between which differences are neither rounding nor saturated.
_ROUNDING, _LINEAR = 1e-12, 1e-2
_ROOM = 100.0  # a factor by which they have to be able to grow before that, or nothing is learned


def grown_differences(
    signals_at: Callable[[Any], list[np.ndarray]], x: Any, signals: list[np.ndarray]
) -> Float[np.ndarray, " layers"] | None:
    """The mean square of differences by layer, in units of that of the signals; `None` if they cannot be tried: inputs are not
    floating-point numbers, or the function answers nearly the same ones with other signals, with the very same, or not at all."""
    if not _is_floating(x):
        return None
    inputs, random = np.asarray(x.detach().cpu() if hasattr(x, "detach") else x).astype(float), np.random.default_rng(0)
    step = _STEP * float(np.sqrt(np.mean(inputs**2)))
    found = np.zeros(len(signals))
    for _ in range(_DIRECTIONS):
        try:
            near = signals_at(_like(inputs + step * random.standard_normal(inputs.shape), x))
        except ArgumentError:  # a function that takes the inputs given, and none beside them
            return None
        if [each.shape for each in near] != [each.shape for each in signals]:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            found += [np.mean((one - other) ** 2) / np.mean(other**2) for one, other in zip(near, signals, strict=True)]
    found /= _DIRECTIONS
    return found if np.isfinite(found).all() and _ROUNDING < found[0] < _LINEAR / _ROOM else None


def while_small(relative: Float[np.ndarray, " layers"]) -> int:
    """Up to how many layers differences are differences: no rounding yet, and not as large as signals are apart anyway."""
    lost = np.flatnonzero(~((relative > _ROUNDING) & (relative < _LINEAR)))
    return int(lost[0]) if len(lost) else len(relative)


def _is_floating(x: Any) -> bool:
    if hasattr(x, "is_floating_point"):  # PyTorch's
        return bool(x.is_floating_point())
    return hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.floating)


def _like(inputs: np.ndarray, x: Any) -> Any:
    """The numbers as an array of the kind that `x` is."""
    if hasattr(x, "new_tensor"):
        return x.new_tensor(inputs)
    return inputs.astype(x.dtype) if isinstance(x, np.ndarray) else jnp.asarray(inputs, x.dtype)
