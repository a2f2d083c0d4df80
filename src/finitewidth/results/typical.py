"""Quantiles of kernel and gradients over networks, from theory or measured."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

TYPICAL_LEVELS = (0.05, 0.5, 0.95)


@dataclass(frozen=True, eq=False)
class TypicalNetworks:
    r"""Quantiles over networks at `TYPICAL_LEVELS`, for one input, layer $\ell$ at index $\ell - 1$."""

    kernel: Float[np.ndarray, "levels L"]
    r"""Of the network's own kernel, $\widehat G^{(\ell)} = C_b + \frac{C_W}{n}\sum_j\sigma(z_j^{(\ell-1)})^2$, PDLT (4.70)."""
    gradient: Float[np.ndarray, "levels L"]
    r"""Of $\sum_j(dz^{(L)}_1/dz^{(\ell)}_j)^2$, the chain-rule factor of one output, PDLT (9.88)."""
    networks: int | None = None
    """How many were measured; `None` for theory."""
    seed: int | None = None
