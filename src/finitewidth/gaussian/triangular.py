r"""Gaussian variables as vectors $v_i$, $v_i\cdot v_j = K_{ij}$, in a frame where $v_i$ has $i+1$ components.

Two moves keep the frame triangular: shrinking the first axis, which weakens the dependence on the first variable, and
conditioning on one variable being zero, which projects along its vector. Angles are read off the components, never
from covariances, so that vectors that nearly coincide keep all their digits.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float

from .._arrays import Array

Rows = list[list[Array]]
Frame = TypeVar("Frame")
Rule = tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]

NODES_AT_ONCE = 8


def inverse(length: Array) -> Array:
    """One over a length; zero for a variable that is always zero."""
    nonzero = length > 0
    return jnp.where(nonzero, 1 / jnp.where(nonzero, length, 1.0), 0.0)


def rows_of(vectors: Float[Array, "n n"]) -> Rows:
    """The components on and below the diagonal."""
    return [[vectors[i, k] for k in range(i + 1)] for i in range(len(vectors))]


def _reflect(rows: Rows, pivot: list[Array], k: int) -> None:
    """Mix components k and k+1 of every row so that component k+1 of `pivot` vanishes and the diagonal stays >= 0."""
    length = jnp.sqrt(pivot[k] ** 2 + pivot[k + 1] ** 2)
    c, s = pivot[k] * inverse(length), jnp.where(length > 0, pivot[k + 1] * inverse(length), 1.0)
    pivot[k : k + 2] = [length]
    for row in rows:
        u = row[k]
        v = row[k + 1] if len(row) > k + 1 else jnp.zeros_like(u)
        row[k : k + 2] = [c * u + s * v, s * u - c * v]


def shrunk(rows: Rows, scale: Array | float) -> Rows:
    """All vectors but the first, with their components along the first multiplied by `scale`."""
    rest = [[scale * row[0], *row[1:]] for row in rows[1:]]
    for k, pivot in enumerate(rest):
        _reflect(rest[k + 1 :], pivot, k)
    return rest


def conditioned(rows: Rows, zero: int) -> Rows:
    """All vectors but number `zero`, projected along it: the variables given that this one is zero."""
    pivot = list(rows[zero])
    others = [list(row) for i, row in enumerate(rows) if i != zero]
    for k in range(zero, 0, -1):
        _reflect([row for row in others if len(row) >= k], pivot, k - 1)
    return [row[1:] for row in others]


def lengths(rows: Rows) -> list[Array]:
    """Standard deviations."""
    return [row[0] if len(row) == 1 else jnp.sqrt(sum(x * x for x in row)) for row in rows]


class Triple(NamedTuple):
    """Three vectors, and the numbers that all their angles have in common."""

    rows: Rows
    floor: Array
    twist: Array


def triple(rows: Rows) -> Triple:
    """What the angles need: the third diagonal kept off zero, lest those of coincident vectors be 0/0, and the
    component of the third vector across the second in the plane of the first two."""
    (_,), (b, c), (x, y, z) = rows
    return Triple(rows, jnp.maximum(z, jnp.finfo(z.dtype).tiny ** 0.2), x * c - y * b)


def triple_angles(vectors: Triple) -> list[Array]:
    r"""$\omega_b = \arcsin\rho_{jk|b}$ for the three ways to single out $b$: the correlation of the others given $z_b = 0$.

    For coincident variables each of them is arbitrary, but what is made of all three is not, provided that they are
    computed from one and the same `Triple`.
    """
    (_,), (b, c), (_, y, _) = vectors.rows
    _, second, third = lengths(vectors.rows)
    z, twist = vectors.floor, vectors.twist
    return [
        jnp.arctan2(y, z),
        jnp.arctan2(twist, z * second),
        jnp.arctan2(b * z * z - y * twist, third * c * z),
    ]


def hyperbolic_rule(step: float, nodes: int) -> Rule:
    r"""Nodes $\sqrt{1-t^2}$ and weights of $\int_0^1 dt$ for even functions of $t$ analytic but for cuts at $|t| \ge 1$.

    With $t = \tanh x$ the cuts become the edges of the strip $|\mathrm{Im}\,x| < \pi/2$ wherever they begin, so the
    trapezoidal rule converges as $e^{-\pi^2/\mathrm{step}}$ for covariances however close to singular.
    """
    x = (np.arange(nodes) + 0.5) * step
    return 1 / np.cosh(x), step / np.cosh(x) ** 2


def weighted_sum(
    rule: Rule, frame: Callable[[Array], Frame], function: Callable[[Array, Frame], Array], dtype: jnp.dtype
) -> Array:
    """The sum of weight * function(node, frame(node)).

    The frames are made in a loop of their own. Compilers repeat cheap arithmetic wherever its results are used, not
    always with the same rounding, and angles that must compensate each other would be computed from different numbers.
    A few nodes at a time, intermediate results stay in cache when many covariances are mapped over.
    """
    nodes, weights = (jnp.asarray(part, dtype).reshape(-1, NODES_AT_ONCE) for part in rule)

    def add(total: Array, part: tuple[Array, Array]) -> tuple[Array, None]:
        values = jax.vmap(function)(part[0], lax.map(frame, part[0]))
        return total + jnp.sum(part[1] * values), None

    return lax.scan(add, jnp.zeros((), dtype), (nodes, weights))[0]
