r"""Moments of the kernel of one input over powers of its mean, without biases: how they grow with depth, and their limit.

A layer of a linear network multiplies $E[\widehat G^m]/E[\widehat G]^m$ by $c_{2m}(n)$. Depth makes of it a power; with $L/n$
held fixed the power tends to the moment of a log-normal variable, PDLT chapter 3.
"""

import functools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError
from .._validation import as_count, as_floats, is_concrete

_HIGHEST_ORDER = 20  # of a moment: forty-point functions; far beyond, numbers of graphs leave the floats


@entry(remedy="reduce the depth, the order, or C_W")
def c_2m(m: int, n: Any) -> Float[Array, "..."]:
    r"""$c_{2m}(n) = \prod_{s=1}^{m-1}(1 + 2s/n)$, elementwise in $n$: PDLT (3.46), PDLT (3.25), PDLT (3.43).

    It is $E[(\chi^2_n/n)^m]$, what one linear layer does to $E[\widehat G^m]/E[\widehat G]^m$.

    Examples:
        >>> float(fw.exact.c_2m(2, 8))
        1.25
    """
    return _of_layer(as_order(m, "m"), _as_widths(n, "n"))


@entry(remedy="reduce the depth, the order, or C_W")
def moment_ratio(m: int, hidden_widths: Any) -> Float[Array, ""]:
    r"""$G_{2m}^{(L)}/(G_2^{(L)})^m = \prod_{\ell=1}^{L-1} c_{2m}(n_\ell)$ of a linear network, PDLT (3.47).

    Without biases. At equal widths it is $c_{2m}(n)^{L-1}$, PDLT (3.50): one when the width is sent to infinity first,
    infinite when the depth is; the limits do not commute, PDLT (3.48)-(3.51). Between them: `fixed_ratio_moment`.

    Examples:
        >>> float(fw.exact.moment_ratio(2, [8, 8]))
        1.5625
    """
    return jnp.prod(_of_layer(as_order(m, "m"), _as_widths(hidden_widths, "hidden_widths")))


def _of_layer(order: int, widths: Float[Array, "..."]) -> Float[Array, "..."]:
    return math.prod((1 + 2 * s / widths for s in range(1, order)), start=jnp.ones_like(widths))


@entry(remedy="reduce the depth, the order, or C_W")
def fixed_ratio_moment(m: int, r: Any, nu: Any = 2.0) -> Float[Array, "..."]:
    r"""$G_{2m}^{(L)}/(G_2^{(L)})^m \to e^{m(m-1)r}$ for $n, L \to \infty$ at $r = L/n$, PDLT (3.53)-(3.55).

    `nu` $= 3A_4/A_2^2 - 1$ is 2 for the linear activation and 5 for ReLU: $e^{\nu m(m-1)r/2}$, moments of a log-normal
    variable with $\ln(\widehat G/G)$ of mean $-\nu r/2$ and variance $\nu r$. Not for $m$ so large that $m^2 \sim n$.

    Examples:
        >>> round(float(fw.exact.fixed_ratio_moment(2, 0.1)), 6)
        1.221403
    """
    order = as_order(m, "m")
    return jnp.exp(order * (order - 1) / 2 * _as_positive(nu, "nu") * _as_positive(r, "r"))


@entry(remedy="reduce the depth, the order, or C_W")
def fixed_ratio_connected(m: int, r: Any, nu: Any = 2.0) -> Float[Array, "..."]:
    r"""The $m$-th cumulant of $\widehat G/G$ in the same limit: the connected $2m$-point function over $(G_2)^m$.

    With $x = e^{\nu r} - 1$ the $m$-th moment is a sum over all graphs on $m$ points, $(1 + x)^{m(m-1)/2}$, so the
    cumulant is the sum of $x^{\rm edges}$ over the connected ones. $m = 2$: $x = e^{2r} - 1$, PDLT (3.56); $m = 3$:
    $3x^2 + x^3 = e^{6r} - 3e^{2r} + 2$, PDLT (3.57); leading order, trees: $m^{m-2}(\nu r)^{m-1}$. All terms are
    positive, so nothing cancels at small $r$.

    Examples:
        >>> round(float(fw.exact.fixed_ratio_connected(2, 0.1)), 6)
        0.221403
    """
    x = jnp.expm1(_as_positive(nu, "nu") * _as_positive(r, "r"))
    counts = _connected_graphs(as_order(m, "m"))
    return jnp.polyval(jnp.asarray([float(count) for count in reversed(counts)]), x)


@functools.cache
def _connected_graphs(m: int) -> list[int]:
    """The numbers of connected labelled graphs on `m` points, by number of edges: all graphs less those in which the
    component of the first point has only k < m points."""
    edges = m * (m - 1) // 2
    counts = [math.comb(edges, e) for e in range(edges + 1)]
    for k in range(1, m):
        rest = (m - k) * (m - k - 1) // 2
        for i, connected in enumerate(_connected_graphs(k)):
            for j in range(rest + 1):
                counts[i + j] -= math.comb(m - 1, k - 1) * connected * math.comb(rest, j)
    return counts


def as_order(value: Any, argument: str) -> int:
    """The order of a moment, refused where numbers of graphs would leave the floats."""
    order = as_count(value, argument)
    if order > _HIGHEST_ORDER:
        raise DomainError(argument, order, f"an order up to {_HIGHEST_ORDER}")
    return order


def _as_widths(value: Any, argument: str) -> Float[Array, "..."]:
    widths = _as_positive(value, argument)
    if is_concrete(widths) and bool((np.asarray(widths) != np.round(np.asarray(widths))).any()):
        raise DomainError(argument, np.asarray(widths).tolist(), "whole numbers of neurons")
    return widths


def _as_positive(value: Any, argument: str) -> Float[Array, "..."]:
    array = as_floats(value, argument)
    if is_concrete(array) and not bool((np.asarray(array) > 0).all()):
        raise DomainError(argument, np.asarray(array).tolist(), "positive numbers")
    return array
