"""A flow as a table: one row for each layer and pair of inputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._table import Table
from .measurement import Measurement

# Where the entry that belongs to the pair (a, b) stands among the axes of a tensor: that of V is the variance of the pair's metric.
# From B on, axes are sorted by neurons, of which there are two: all of the first neuron's samples are a, those of the second b.
_PAIR, _PAIRS, _CROSSED, _OUTER = "ab", "abab", "aabb", "abba"
_ENTRIES = {
    "K": _PAIR,
    "G1": _PAIR,
    "G": _PAIR,
    "V": _PAIRS,
    "G2": _PAIR,
    "V1": _PAIRS,
    "Theta": _PAIR,
    "H1": _PAIR,
    "H": _PAIR,
    "A": _PAIRS,
    "B": _CROSSED,
    "D": _PAIRS,
    "F": _CROSSED,
    "P": _OUTER,
    "Q": _CROSSED,
    "R": _CROSSED,
    "S": _CROSSED,
    "T": _CROSSED,
    "U": _CROSSED,
}


def table_of_flow(
    K: np.ndarray, groups: dict[str, Any], layers: dict[str, Sequence[int]], facts: dict[str, Any]
) -> Table:
    """`groups` are the fields by name, arrays or measurements; `layers` says in which layers each is known."""
    depth, samples = K.shape[:2]
    a, b = np.triu_indices(samples)
    every = np.arange(depth)
    columns = {
        "layer": np.repeat(every + 1, len(a)),
        "input_a": np.tile(a, depth),
        "input_b": np.tile(b, depth),
    }
    for name, value in {"K": K, **groups}.items():
        if name not in _ENTRIES:
            continue
        index = tuple(a if axis == "a" else b for axis in _ENTRIES[name])
        parts = value.as_columns(name) if isinstance(value, Measurement) else {name: value}
        for part, array in parts.items():
            column = np.full((depth, len(a)), np.nan)
            column[np.asarray(layers.get(name, every + 1), dtype=int) - 1] = np.asarray(array)[(slice(None), *index)]
            columns[part] = column.ravel()
    return Table(facts, columns)
