r"""Moments and connected correlators (cumulants) of any order, and both of them from samples.

The moment of a set of variables is the sum over all its partitions of products of connected correlators,
PDLT (1.52)-(1.56). Grouping the partitions by the block $A$ that holds the first variable gives

$$E[z_S] = \sum_{A\ni \mu_1} E[z_A]_{\mathrm{conn}}\,E[z_{S\setminus A}],$$

which has $2^{k-1}$ terms for $k$ variables where the partitions are as many as Bell's numbers.
"""

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array, diagonal
from .._entry import entry
from .._errors import DomainError, ShapeError
from .._validation import as_count, as_floats, is_concrete


@entry()
def moments_from_connected(connected: Sequence[Float[Array, "..."] | Any]) -> list[Float[Array, "..."]]:
    r"""Full moments $E[z_{\mu_1}\cdots z_{\mu_k}]$ from connected correlators, PDLT (1.56).

    Element $k-1$ of either list is the tensor of order $k$, with $k$ axes of length $N$ and symmetric in them.

    Examples:
        >>> [m.round(6).ravel().tolist() for m in fw.gaussian.moments_from_connected([[1.0], [[2.0]]])]
        [[1.0], [3.0]]
    """
    return _moments(_as_tensors(connected, "connected"))


@entry()
def connected_from_moments(moments: Sequence[Float[Array, "..."] | Any]) -> list[Float[Array, "..."]]:
    r"""Connected correlators from full moments, the inverse of `moments_from_connected`, PDLT (1.52)-(1.56).

    Element $k-1$ of either list is the tensor of order $k$, with $k$ axes of length $N$ and symmetric in them.

    Examples:
        >>> [c.round(6).ravel().tolist() for c in fw.gaussian.connected_from_moments([[1.0], [[3.0]]])]
        [[1.0], [2.0]]
    """
    return _connected(_as_tensors(moments, "moments"))


@entry()
def connected_from_even_moments(even_moments: Sequence[Float[Array, "..."] | Any]) -> list[Float[Array, "..."]]:
    r"""$E[zz], E[zzzz]_{\mathrm{conn}}, \dots$ from $E[zz], E[zzzz], \dots$ when all odd moments vanish.

    $$E[1234]_c = E[1234] - E[12]E[34] - E[13]E[24] - E[14]E[23]\quad\text{PDLT (1.54)}$$


    $$E[1\cdots6]_c = E[1\cdots6] - \{E[1234]E[56] + 14\} + 2\{E[12]E[34]E[56] + 14\}\quad\text{PDLT (1.61)}$$

    Examples:
        >>> [c.round(6).ravel().tolist() for c in fw.gaussian.connected_from_even_moments([[[2.0]], [[[[15.0]]]]])]
        [[2.0], [3.0]]
    """
    even = _as_tensors(even_moments, "even_moments", order_step=2)
    moments = [tensor for full in even for tensor in (jnp.zeros(full.shape[:-1]), full)]
    return _connected(moments)[1::2]


# Compiled as a whole: one by one, the many transpositions would take ten times as long to compile.
@jax.jit
def _moments(connected: list[Array]) -> list[Array]:
    moments: list[Array] = []
    for order, tensor in enumerate(connected, start=1):
        moments.append(tensor + _split_at_the_first(connected, moments, order))
    return moments


@jax.jit
def _connected(moments: list[Array]) -> list[Array]:
    connected: list[Array] = []
    for order, tensor in enumerate(moments, start=1):
        connected.append(tensor - _split_at_the_first(connected, moments, order))
    return connected


def _split_at_the_first(connected: Sequence[Array], moments: Sequence[Array], order: int) -> Array | float:
    """The sum over the proper subsets that hold the first variable: connected there, full moment on the rest."""
    total: Array | float = 0.0
    for size in range(1, order):
        product = jnp.tensordot(connected[size - 1], moments[order - size - 1], axes=0)
        for companions in itertools.combinations(range(1, order), size - 1):
            block = (0, *companions)
            rest = tuple(axis for axis in range(order) if axis not in block)
            total = total + jnp.moveaxis(product, range(order), block + rest)
    return total


def _as_tensors(tensors: Sequence[Any], argument: str, order_step: int = 1) -> list[Array]:
    checked = [as_floats(tensor, f"{argument}[{i}]") for i, tensor in enumerate(tensors)]
    for i, tensor in enumerate(checked):
        order = order_step * (i + 1)
        if tensor.ndim == 0 or tensor.shape != checked[0].shape[:1] * order:
            raise ShapeError(f"{argument}[{i}]", f"shape {tensor.shape}", f"{order} axes of the same length N")
    return checked


@entry()
def sample_cumulants(samples: Float[Array, "samples N"] | Any, order: int) -> list[Float[Array, "..."]]:
    r"""Connected correlators of orders $1..$`order` of the empirical law of `samples`, one draw a row.

    These are the plug-in estimates (averages over the draws, no small-sample correction): their bias is
    $O(1/\mathrm{samples})$, below the statistical error $O(1/\sqrt{\mathrm{samples}})$.

    Examples:
        >>> [c.round(6).tolist() for c in fw.gaussian.sample_cumulants([[1.0], [2.0], [4.0]], 2)]
        [[2.333333], [[1.555556]]]
    """
    draws, highest = as_floats(samples, "samples"), as_count(order, "order")
    if draws.ndim != 2 or 0 in draws.shape:
        raise ShapeError("samples", f"shape {draws.shape}", "shape (samples, N) with one draw a row")
    mean = jnp.mean(draws, axis=0)
    # About the mean: cumulants above the first do not depend on the origin, and nothing large cancels.
    centred = draws - mean
    central = [_sample_moment(centred, k) for k in range(1, highest + 1)]
    return [mean, *_connected(central)[1:]]


@partial(jax.jit, static_argnames="order")
def _sample_moment(draws: Float[Array, "samples N"], order: int) -> Float[Array, "..."]:
    """The mean of the `order`-fold outer product, as one product of two halves so that memory stays small."""
    count, size = draws.shape

    def power(k: int) -> Array:
        product = jnp.ones((count, 1))
        for _ in range(k):
            product = (product[:, :, None] * draws[:, None, :]).reshape(count, -1)
        return product

    return (power(order // 2).T @ power(order - order // 2) / count).reshape((size,) * order)


@entry()
def excess_kurtosis(
    two_point: Float[Array, "N N"] | Any, connected_four_point: Float[Array, "N N N N"] | Any
) -> Float[Array, " N"]:
    r"""$E[z_\mu^4]_{\mathrm{conn}} / E[z_\mu^2]_{\mathrm{conn}}^2$ of each variable: 0 for a Gaussian, PDLT (1.54)."""
    covariance, fourth = as_floats(two_point, "two_point"), as_floats(connected_four_point, "connected_four_point")
    size = fourth.shape[0] if fourth.ndim else 0
    if fourth.shape != (size,) * 4 or covariance.shape != (size,) * 2:
        got = f"shapes {covariance.shape} and {fourth.shape}"
        raise ShapeError("connected_four_point", got, "(N, N) for `two_point` and (N, N, N, N)")
    variances = diagonal(covariance)
    if is_concrete(variances) and not bool((np.asarray(variances) > 0).all()):
        raise DomainError("two_point", "a variable of zero variance", "positive variances")
    i = np.arange(size)
    return fourth[i, i, i, i] / variances**2
