r"""Gaussian averages of products of functions that are analytic except at declared kinks.

The generic numerical route, for one to four variables of any covariance, singular ones included: Gauss-Legendre panels
between all the places where the integrand changes character (`panels`). It serves kinked functions (softsign, ELU,
hard tanh, any callable with its kinks declared) and smooth functions at large variance, for which zero is declared as
if it were a kink. Functions are taken to vary on a scale of order one, or larger, around their kinks.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import ArrayLike, Float

from .._arrays import Array
from .._errors import ShapeError
from .._validation import as_covariance, as_floats
from .kinked_pairs import PAIR_NODES, PAIRS_AT_ONCE, average_pair
from .nested import average_product
from .panels import conditional_average, elementwise_in_chunks, kink_points, root

ElementwiseFunction = Callable[[Array], Array]
Kinks = tuple[float, ...]


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def pair_average(
    f: ElementwiseFunction,
    g: ElementwiseFunction,
    kinks_f: Kinks,
    kinks_g: Kinks,
    Kaa: ArrayLike,
    Kab: ArrayLike,
    Kbb: ArrayLike,
) -> Array:
    r"""$\langle f(z_a)\,g(z_b)\rangle_K$, elementwise over covariances that broadcast against each other."""
    at_f, at_g = kink_points(kinks_f), kink_points(kinks_g)
    return elementwise_in_chunks(
        functools.partial(average_pair, f, g, at_f, at_g),
        [jnp.asarray(entry) for entry in (Kaa, Kab, Kbb)],
        PAIRS_AT_ONCE,
    )


def product_average(
    functions: tuple[ElementwiseFunction, ...],
    kinks: tuple[Kinks, ...],
    K: Float[Array, "n n"] | Any,
    mean: Float[Array, " n"] | Any = None,
) -> Float[Array, ""]:
    r"""$\langle\prod_{i=1}^n f_i(z_i)\rangle$ for $z\sim N(\text{mean}, K)$ and $n\le4$; zero mean unless given."""
    n = len(functions)
    if not 1 <= n <= 4:
        raise ShapeError("functions", f"{n} functions", "one to four")
    if len(kinks) != n:
        raise ShapeError("kinks", f"kinks of {len(kinks)} functions", f"one tuple for each of the {n} functions")
    covariance = as_covariance(K, "K")
    if covariance.shape != (n, n):
        raise ShapeError("K", f"shape {covariance.shape}", f"shape ({n}, {n}), one row for each function")
    if mean is not None:
        mean = as_floats(mean, "mean")
        if mean.shape != (n,):
            raise ShapeError("mean", f"shape {mean.shape}", f"shape ({n},), one entry for each function")
    return _product_average(functions, kinks, covariance, mean)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _product_average(
    functions: tuple[ElementwiseFunction, ...], kinks: tuple[Kinks, ...], K: Float[Array, "n n"], mean: Array | None
) -> Array:
    central = mean is None and not any(kink for of_one in kinks for kink in of_one)
    shift = jnp.zeros(len(functions), K.dtype) if mean is None else mean
    kink_table = _rectangular(kinks) - shift[:, None]
    distinct = tuple(dict.fromkeys(functions))
    which = jnp.asarray([distinct.index(function) for function in functions])

    def value(i: int | Array, z: Array) -> Array:
        argument = z if mean is None else shift[i] + z
        return distinct[0](argument) if len(distinct) == 1 else jax.lax.switch(which[i], distinct, argument)

    if len(functions) == 1:
        return conditional_average(functools.partial(value, 0), kink_table[0], jnp.zeros(()), root(K[0, 0]), PAIR_NODES)
    if len(functions) == 2:
        f, g = (functools.partial(value, i) for i in range(2))
        return average_pair(f, g, kink_table[0], kink_table[1], K[0, 0], K[0, 1], K[1, 1])
    return average_product(value, kink_table, K, central)


def _rectangular(kinks: tuple[Kinks, ...]) -> Float[Array, "n t"]:
    """The kinks of all functions as a table, whose rows are filled up by repetition."""
    rows = [kink_points(of_one) for of_one in kinks]
    longest = max(map(len, rows))
    return jnp.stack([jnp.pad(row, (0, longest - len(row)), mode="edge") for row in rows])
