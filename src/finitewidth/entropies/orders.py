"""What `information` returns: every quantity by layer, in three ways side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from .._result import Result
from ..results import Measurement


@dataclass(frozen=True, repr=False)
class Orders(Result):
    """One quantity by layer, in nats: the leading order, the next one where it is known, and the exact value by sampling."""

    axes = ("layer",)

    leading: Float[np.ndarray, " L"]
    next: Float[np.ndarray, " L"] | None
    exact: Measurement

    def as_columns(self, name: str) -> dict[str, Any]:
        """As part of a table."""
        columns = {f"{name}_leading": self.leading} | ({} if self.next is None else {f"{name}_next": self.next})
        return columns | self.exact.as_columns(f"{name}_exact")


@dataclass(frozen=True, repr=False)
class Information(Result):
    r"""What `information` returns; layer $\ell$ at index $\ell-1$, everything in nats.

    - `coupling`: $\varepsilon = V/(nK^2)$ of the first input to first order, in which neurons are expanded.
    - `entropy`: $\mathcal S$ of the first group of neurons on the first input, which depends on the units of the signal.
    - `neurons`: what the first two groups of neurons tell of one another; `tripartite`: the information $I_3$ of all three.
    - `samples`: what the first two inputs tell of one another through one neuron; `None` for one input.
    - `assumes`: what each of the three ways takes for granted.
    """

    axes = ("layer",)

    coupling: Float[np.ndarray, " L"]
    entropy: Orders
    neurons: Orders
    tripartite: Orders
    samples: Orders | None
    groups: tuple[int, int, int]
    networks: int
    seed: int
    assumes: dict[str, str]


def measured(estimates: Sequence[tuple[float, float]]) -> Measurement:
    """Values and errors of all layers."""
    return Measurement(*np.transpose(estimates))
