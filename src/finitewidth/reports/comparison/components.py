"""The independent entries of every quantity that can be compared: one of each set that symmetry makes equal."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arrays import Array
from ...results import Flow, Measurement

Index = tuple[np.ndarray, ...]
Permutation = tuple[int, int, int, int]


@dataclass(frozen=True)
class Component:
    """A quantity of a flow: where its independent entries are, and how large it naturally is."""

    name: str
    index: Callable[[int], Index]
    value: Callable[[Flow[Any]], Any]
    size: Callable[[Flow[Array]], np.ndarray]
    """Of each layer."""
    group: str = "metric"
    """To which group of a flow it belongs."""

    def columns(self, theory: Flow[Array], measured: Flow[Measurement]) -> tuple[np.ndarray, ...]:
        """Name, layer, label, theory, measurement, standard error, networks behind it (without end where nobody counted), and natural
        size of every entry, layer by layer."""
        index = self.index(theory.K.shape[1])
        # Tangent kernels and their differentials may have been measured in some layers only.
        every = range(1, len(theory.K) + 1)
        layers = np.asarray(getattr(getattr(measured, self.group), "layers", every))
        found = self.value(measured)
        behind = found.effective_networks
        counts = np.full(found.mean.shape, np.inf) if behind is None else behind
        arrays = (np.asarray(self.value(theory))[layers - 1], found.mean, found.standard_error, counts)
        values = [np.asarray(array)[(slice(None), *index)].ravel() for array in arrays]
        labels = _labels(self.name, index)
        entries = len(labels)
        return (
            np.full(len(layers) * entries, self.name),
            np.repeat(layers, entries),
            np.tile(labels, len(layers)),
            *values,
            np.repeat(self.size(theory)[layers - 1], entries),
        )


def components(theory: Flow[Array], measured: Flow[Measurement]) -> list[Component]:
    """What both have."""

    def has(flow: Flow[Any], group: str) -> bool:
        return group == "metric" or getattr(flow, group) is not None

    return [each for each in _ALL if has(theory, each.group) and has(measured, each.group)]


def _pairs(samples: int) -> Index:
    return np.triu_indices(samples)


def _pairs_of_pairs(samples: int) -> Index:
    a, b = _pairs(samples)
    p, q = np.triu_indices(len(a))
    return a[p], b[p], a[q], b[q]


def _pairs_by_pairs(samples: int) -> Index:
    a, b = _pairs(samples)
    p, q = (grid.ravel() for grid in np.indices((len(a), len(a))))
    return a[p], b[p], a[q], b[q]


def _quadruples(*symmetries: Permutation) -> Callable[[int], Index]:
    """One entry of each set that the symmetries (which are involutions that commute) make equal."""
    products = [(0, 1, 2, 3), *symmetries]
    if len(symmetries) == 2:
        first, (a, b, c, d) = symmetries
        products.append((first[a], first[b], first[c], first[d]))

    def index(samples: int) -> Index:
        every = itertools.product(range(samples), repeat=4)
        chosen = [entry for entry in every if entry == min(tuple(entry[i] for i in turn) for turn in products)]
        return tuple(np.asarray(chosen).T)

    return index


def _labels(name: str, index: Index) -> np.ndarray:
    """`G(0,1)` and `V(01)(23)`; commas in the latter too once indices have two digits."""
    comma = "," if len(index) == 2 or max(int(i.max()) for i in index) > 9 else ""
    return np.array(
        [
            name + "".join(f"({a}{comma}{b})" for a, b in zip(entry[::2], entry[1::2], strict=True))
            for entry in zip(*index, strict=True)
        ]
    )


def _kernel(theory: Flow[Array]) -> np.ndarray:
    return np.abs(np.asarray(theory.K)).max(axis=(1, 2))


def _tangent(theory: Flow[Array]) -> np.ndarray:
    return np.abs(np.asarray(theory.Theta)).max(axis=(1, 2))


def _width(theory: Flow[Array]) -> np.ndarray:
    return np.asarray(theory.previous_widths)


def _second(theory: Flow[Array]) -> np.ndarray:
    return _tangent(theory) ** 3 / _kernel(theory)


_EXCHANGED, _TURNED, _INNER, _LAST, _REVERSED = (2, 3, 0, 1), (1, 0, 3, 2), (0, 2, 1, 3), (0, 1, 3, 2), (3, 2, 1, 0)

_ALL = (
    Component("G", _pairs, lambda flow: flow.G, _kernel),
    Component("G1", _pairs, lambda flow: flow.G1, lambda t: _width(t) * _kernel(t)),
    Component("V", _pairs_of_pairs, lambda flow: flow.V, lambda t: _kernel(t) ** 2),
    Component("H", _pairs, lambda flow: flow.H, _tangent, "tangent"),
    Component("H1", _pairs, lambda flow: flow.H1, lambda t: _width(t) * _tangent(t), "tangent"),
    Component("A", _pairs_of_pairs, lambda flow: flow.A, lambda t: _tangent(t) ** 2, "tangent"),
    Component("B", _quadruples(_EXCHANGED, _TURNED), lambda flow: flow.B, lambda t: _tangent(t) ** 2, "tangent"),
    Component("D", _pairs_by_pairs, lambda flow: flow.D, lambda t: _kernel(t) * _tangent(t), "tangent"),
    Component("F", _quadruples(_EXCHANGED), lambda flow: flow.F, lambda t: _kernel(t) * _tangent(t), "tangent"),
    Component("P", _quadruples(_INNER), lambda flow: flow.P, lambda t: _tangent(t) ** 2, "differential"),
    Component("Q", _quadruples(), lambda flow: flow.Q, lambda t: _tangent(t) ** 2, "differential"),
    Component("R", _quadruples(_LAST), lambda flow: flow.R, _second, "second_differential"),
    Component("S", _quadruples(_TURNED), lambda flow: flow.S, _second, "second_differential"),
    Component("T", _quadruples(_REVERSED), lambda flow: flow.T, _second, "second_differential"),
    Component("U", _quadruples(_EXCHANGED), lambda flow: flow.U, _second, "second_differential"),
)
