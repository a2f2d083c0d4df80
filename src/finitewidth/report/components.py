"""The independent entries of K, G1 and V: one of each set that symmetry makes equal."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Array

from ..ensembles import MeasuredFlow, Measurement
from ..flow import Flow

Index = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Component:
    """A quantity of a flow: where its independent entries are, and how large it naturally is."""

    name: str
    index: Callable[[int], Index]
    theory: Callable[[Flow], Array]
    measured: Callable[[MeasuredFlow], Measurement]
    size: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """From the largest kernel of each layer and the width before it."""

    def columns(self, theory: Flow, measured: MeasuredFlow) -> tuple[np.ndarray, ...]:
        """Name, layer, label, theory, measurement, standard error and natural size of every entry, layer by layer."""
        layers, samples = theory.K.shape[:2]
        index = self.index(samples)
        found = self.measured(measured)
        arrays = (np.asarray(array) for array in (self.theory(theory), found.mean, found.standard_error))
        values = [array[(slice(None), *index)].ravel() for array in arrays]
        size = self.size(np.abs(np.asarray(theory.K)).max(axis=(1, 2)), np.asarray(theory.previous_widths))
        labels = _labels(self.name, index)
        entries = len(labels)
        layer = np.repeat(np.arange(1, layers + 1), entries)
        return (
            np.full(layers * entries, self.name),
            layer,
            np.tile(labels, layers),
            *values,
            np.repeat(size, entries),
        )


def _pairs(samples: int) -> Index:
    return np.triu_indices(samples)


def _pairs_of_pairs(samples: int) -> Index:
    a, b = _pairs(samples)
    p, q = np.triu_indices(len(a))
    return a[p], b[p], a[q], b[q]


def _labels(name: str, index: Index) -> np.ndarray:
    """`K(0,1)` and `V(01)(23)`; commas in the latter too once indices have two digits."""
    comma = "," if len(index) == 2 or max(int(i.max()) for i in index) > 9 else ""
    return np.array(
        [
            name + "".join(f"({a}{comma}{b})" for a, b in zip(entry[::2], entry[1::2], strict=True))
            for entry in zip(*index, strict=True)
        ]
    )


_ALL = (
    Component("K", _pairs, lambda t: t.G, lambda m: m.K, lambda K, n: K),
    Component("G1", _pairs, lambda t: t.G1, lambda m: m.G1, lambda K, n: n * K),
    Component("V", _pairs_of_pairs, lambda t: t.V, lambda m: m.V, lambda K, n: K**2),
)
COMPONENTS: dict[str, Component] = {component.name: component for component in _ALL}
