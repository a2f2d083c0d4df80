"""The arrays that the library is annotated with."""

import jax
import numpy as np

Array = jax.Array | np.ndarray
"""JAX's inside a computation, NumPy's in what a user gets back: formulas do not care which."""
