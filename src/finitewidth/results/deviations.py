"""How far a measurement is from theory, entry by entry."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from .._result import Result


@dataclass(frozen=True, eq=False, repr=False)
class Deviations(Result):
    """Entries of quantities in layers, theory beside measurement: columns of equal length, an entry at each index."""

    quantity: np.ndarray
    """The name, such as `V`."""
    layer: Int[np.ndarray, " R"]
    """Counted from one."""
    component: np.ndarray
    """Which entry, such as `V(01)(23)`."""
    theory: Float[np.ndarray, " R"]
    measured: Float[np.ndarray, " R"]
    standard_error: Float[np.ndarray, " R"]
    deviation: Float[np.ndarray, " R"]
    """Measured minus theory, in standard errors."""
    trustworthy: Bool[np.ndarray, " R"]
    """Whether the standard error can be trusted; otherwise the deviation cannot tell."""
