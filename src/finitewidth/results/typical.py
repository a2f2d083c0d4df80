"""Quantiles of kernel and gradients over networks, from theory or measured."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from .._result import Result
from .._table import Table

TYPICAL_LEVELS = (0.05, 0.5, 0.95)


@dataclass(frozen=True, eq=False, repr=False)
class TypicalNetworks(Result):
    r"""Quantiles over networks at `TYPICAL_LEVELS`, for one input, layer $\ell$ at index $\ell - 1$."""

    kernel: Float[np.ndarray, "levels L"]
    r"""Of the network's own kernel, $\widehat G^{(\ell)} = C_b + \frac{C_W}{n}\sum_j\sigma(z_j^{(\ell-1)})^2$, PDLT (4.70)."""
    gradient: Float[np.ndarray, "levels L"]
    r"""Of $\sum_j(dz^{(L)}_1/dz^{(\ell)}_j)^2$, the chain-rule factor of one output, PDLT (9.88)."""
    networks: int | None = None
    """How many were measured; `None` for theory."""
    seed: int | None = None

    def table(self) -> Table:
        """One row for each layer, one column for each level."""
        levels = [
            (f"{name} {level:g}", values)
            for name, quantiles in (("kernel", self.kernel), ("gradient", self.gradient))
            for level, values in zip(TYPICAL_LEVELS, quantiles, strict=True)
        ]
        facts = {"networks": self.networks, "seed": self.seed} if self.networks is not None else {"of": "theory"}
        return Table(facts, {"layer": np.arange(1, self.kernel.shape[1] + 1), **dict(levels)})
