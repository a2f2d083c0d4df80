"""The state of a run that keeps all it draws: arrays with a row for each network or path, filled lane by lane."""

import math
from typing import TypeVar

import jax
import numpy as np

from .._arrays import Array
from .._memory import check_memory

Rows = TypeVar("Rows")


_COPIES = 2  # of all rows: as they are kept, and as a result is made of them


def empty_store(lane: Rows, total: int, things: str = "networks") -> Rows:
    """Room for `total` rows, of the shapes and types that one lane's rows have: one for each of the `things`, an argument's name."""
    each = sum(math.prod(leaf.shape[1:]) * leaf.dtype.itemsize for leaf in jax.tree.leaves(lane))
    what = f"{total} {things}, each of which keeps {each} bytes"
    check_memory(float(_COPIES * total * each), things, what, f"fewer {things}, or fewer inputs")
    return jax.tree.map(lambda leaf: np.zeros((total, *leaf.shape[1:]), leaf.dtype), lane)


def put(store: Rows, first: int, found: Rows) -> Rows:
    """The store with a lane's rows from number `first` on; those beyond its end are dropped."""

    def fill(rows: np.ndarray, new: Array) -> np.ndarray:
        rows[first : first + len(new)] = np.asarray(new)[: len(rows) - first]
        return rows

    return jax.tree.map(fill, store, found)
