r"""Gaussian averages of products of functions that are analytic except at declared kinks.

The generic numerical route, for one to four variables of any covariance, singular ones included: Gauss-Legendre panels
between all the places where the integrand changes character (`panels`). It serves kinked functions (softsign, ELU,
hard tanh, any callable with its kinks declared) and smooth functions that are steep or meet a large variance.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float, Int

from .._arrays import Array, diagonal
from .._errors import ShapeError
from .._validation import as_covariance, as_floats
from .kinked_pairs import PAIRS_AT_ONCE, average_pair
from .nearly_singular import dependent_averages, dependent_part
from .nested import average_product
from .panels import conditional_average, elementwise_in_chunks, root
from .places import PAIR_NODES, Places

ElementwiseFunction = Callable[[Array], Array]


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def pair_average(
    f: ElementwiseFunction,
    g: ElementwiseFunction,
    places_f: Places,
    places_g: Places,
    Kaa: ArrayLike,
    Kab: ArrayLike,
    Kbb: ArrayLike,
) -> Array:
    r"""$\langle f(z_a)\,g(z_b)\rangle_K$, elementwise over covariances that broadcast against each other."""
    return elementwise_in_chunks(
        functools.partial(average_pair, f, g, places_f, places_g),
        [jnp.asarray(entry) for entry in (Kaa, Kab, Kbb)],
        PAIRS_AT_ONCE,
    )


def product_average(
    functions: tuple[ElementwiseFunction, ...],
    places: tuple[Places, ...],
    K: Float[Array, "n n"] | Any,
    mean: Float[Array, " n"] | Any = None,
) -> Float[Array, ""]:
    r"""$\langle\prod_{i=1}^n f_i(z_i)\rangle$ for $z\sim N(\text{mean}, K)$ and $n\le4$; zero mean unless given."""
    n = len(functions)
    if not 1 <= n <= 4:
        raise ShapeError("functions", f"{n} functions", "one to four")
    if len(places) != n:
        raise ShapeError("places", f"places of {len(places)} functions", f"those of each of the {n} functions")
    covariance = as_covariance(K, "K")
    if covariance.shape != (n, n):
        raise ShapeError("K", f"shape {covariance.shape}", f"shape ({n}, {n}), one row for each function")
    if mean is not None:
        mean = as_floats(mean, "mean")
        if mean.shape != (n,):
            raise ShapeError("mean", f"shape {mean.shape}", f"shape ({n},), one entry for each function")
    return _product_average(functions, places, covariance, mean)


def product_averages(
    products: tuple[tuple[ElementwiseFunction, ...], ...], places: tuple[Places, ...], K: Float[Array, "n n"]
) -> Float[Array, " products"]:
    r"""$\langle\prod_i f_i(z_i)\rangle$ for several products of functions of the same variables: one program for all of them."""
    distinct = tuple(dict.fromkeys(function for product in products for function in product))
    which = np.array([[distinct.index(function) for function in product] for product in products])

    def one_by_one() -> Float[Array, " products"]:
        return jax.lax.map(lambda of_one: _average(distinct, of_one, places, K, None), jnp.asarray(which))

    if len(K) < 4:
        return one_by_one()
    of, finest = dependent_part(K), min(places, key=lambda of_one: of_one.scale)
    dependent = functools.partial(dependent_averages, distinct, which, _rectangular(places), finest, K, of)
    return jax.lax.cond(of.is_served & (jnp.min(diagonal(K)) > 0), dependent, one_by_one)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _product_average(
    functions: tuple[ElementwiseFunction, ...], places: tuple[Places, ...], K: Float[Array, "n n"], mean: Array | None
) -> Array:
    distinct = tuple(dict.fromkeys(functions))
    which = jnp.asarray([distinct.index(function) for function in functions])
    return _average(distinct, which, places, K, mean)


def _average(
    distinct: tuple[ElementwiseFunction, ...],
    which: Int[Array, " n"],
    places: tuple[Places, ...],
    K: Float[Array, "n n"],
    mean: Array | None,
) -> Float[Array, ""]:
    """The average of the product of functions that are chosen by `which` from those that are `distinct`."""
    shift = jnp.zeros(len(K), K.dtype) if mean is None else mean
    points = _rectangular(places) - shift[:, None]
    finest = min(places, key=lambda of_one: of_one.scale)

    def value(i: int | Array, z: Array) -> Array:
        argument = z if mean is None else shift[i] + z
        return distinct[0](argument) if len(distinct) == 1 else jax.lax.switch(which[i], distinct, argument)

    if len(K) == 1:
        return conditional_average(
            functools.partial(value, 0), finest.at(points[0]), jnp.zeros(()), root(K[0, 0]), PAIR_NODES
        )
    if len(K) == 2:
        f, g = (functools.partial(value, i) for i in range(2))
        return average_pair(f, g, finest.at(points[0]), finest.at(points[1]), K[0, 0], K[0, 1], K[1, 1])
    return average_product(value, points, finest, K)


def _rectangular(places: tuple[Places, ...]) -> Float[Array, "n t"]:
    """The points of all functions as a table, whose rows are filled up by repetition."""
    rows = [of_one.array for of_one in places]
    longest = max(map(len, rows))
    return jnp.stack([jnp.pad(row, (0, longest - len(row)), mode="edge") for row in rows])
