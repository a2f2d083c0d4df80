"""The arrays that the library is annotated with."""

from typing import TYPE_CHECKING, TypeVar

import jax
import numpy as np

from ._jax import Tracer

if TYPE_CHECKING:
    Array = jax.Array | np.ndarray
else:  # an entry of NumPy's array is a scalar of NumPy's: an array without axes, to everyone but a static checker
    Array = jax.Array | np.ndarray | np.generic
"""JAX's inside a computation, NumPy's in what a user gets back: formulas do not care which."""

Tree = TypeVar("Tree")


def at_hand(tree: Tree) -> Tree:
    """The same numbers as NumPy's arrays, where nothing is being traced: JAX would compile every operation on them."""
    return jax.tree.map(lambda leaf: leaf if isinstance(leaf, Tracer) else np.asarray(leaf), tree)


def diagonal(matrices: Array) -> Array:
    """Of the last two axes: a single slice, where JAX's own function compiles to a dozen operations, and a gather five times as long."""
    *batch, rows, columns = matrices.shape
    return matrices.reshape(*batch, rows * columns)[..., :: columns + 1]
