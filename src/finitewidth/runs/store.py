"""The state of a run that keeps all it draws: arrays with a row for each network or path, filled lane by lane."""

from typing import TypeVar

import jax
import numpy as np

from .._arrays import Array

Rows = TypeVar("Rows")


def empty_store(lane: Rows, total: int) -> Rows:
    """Room for `total` rows, of the shapes and types that one lane's rows have."""
    return jax.tree.map(lambda leaf: np.zeros((total, *leaf.shape[1:]), leaf.dtype), lane)


def put(store: Rows, first: int, found: Rows) -> Rows:
    """The store with a lane's rows from number `first` on; those beyond its end are dropped."""

    def fill(rows: np.ndarray, new: Array) -> np.ndarray:
        rows[first : first + len(new)] = np.asarray(new)[: len(rows) - first]
        return rows

    return jax.tree.map(fill, store, found)
