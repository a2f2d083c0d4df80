r"""Averages of products of kinked functions of three or four variables that are not close to dependent.

Part of every variable is noise of its own: with $\lambda$ the smallest eigenvalue of the correlations, $K = K' + D$ where
$D_{ii} = \tfrac\lambda2K_{ii}$ and $K'$ is still positive. Averaging over that noise first,

$$\Big\langle\prod_i f_i(z_i)\Big\rangle_K = \Big\langle\prod_i\tilde f_i(y_i)\Big\rangle_{K'},\qquad
\tilde f_i(y) = \langle f_i(y + \sqrt{D_{ii}}\,\xi)\rangle,$$

leaves analytic functions, whatever kinks and jumps the $f_i$ have, that vary on the scale $\sqrt{D_{ii}}$: the trapezoid rule
converges as $e^{-\pi^2D/h^2}$ in its step $h$. Two groups of variables are coupled through their canonical correlations $r$, as for
smooth functions (`hermite`), here by the density of two correlated variables itself, which $1 - r \ge \lambda/2$ keeps wide.
"""

import functools
import operator
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array, diagonal
from . import piecewise
from .chebyshev import Table, tabulate
from .panels import conditional_average
from .places import Places
from .split import canonical_variables

_REACH = 9.5
_STEP = 0.7  # of the noise's deviation: errors below 1e-9
_NODES = {3: (128,), 4: (128, 400)}  # the coarser where it will do; nearly dependent variables need more than either
_TABLE_NODES = 12
_PANELS_PER_NODE = 5  # panels of tables, about four of the noise's deviations long, against nodes

ElementwiseFunction = Callable[[Array], Array]


@functools.partial(jax.jit, static_argnums=(0, 1))
def product_average(
    functions: tuple[ElementwiseFunction, ...], places: tuple[Places, ...], K: Float[Array, "n n"]
) -> Float[Array, ""]:
    r"""$\langle\prod_i f_i(z_i)\rangle_K$ of three or four variables: smoothed where their noise allows, else piecewise."""

    # One covariance after the other: mapped over all at once, every one of them would go both ways.
    @jax.custom_batching.sequential_vmap
    def average(K: Float[Array, "n n"]) -> Float[Array, ""]:
        deviations = jnp.sqrt(diagonal(K))
        positive = jnp.where(deviations > 0, deviations, 1.0)
        least = jnp.linalg.eigvalsh(K / jnp.outer(positive, positive))[0]
        choice = _NODES[len(K)]
        step = 2 * _REACH / (np.array(choice) - 1)
        ways = [functools.partial(_smoothed, functions, places, least=least, nodes=nodes) for nodes in choice]
        piece_by_piece = functools.partial(piecewise.product_average, functions, places)
        way = jnp.sum(least / 2 < (step / _STEP) ** 2)
        return jax.lax.switch(way, [*ways, piece_by_piece], K)

    return average(K)


def _smoothed(
    functions: Sequence[ElementwiseFunction], places: Sequence[Places], K: Float[Array, "n n"], least: Array, nodes: int
) -> Float[Array, ""]:
    """On a grid of so many nodes along each axis; `least` is the smallest eigenvalue of the correlations."""
    variances = diagonal(K)
    noise = least / 2 * variances
    ends = jnp.sqrt(variances)[:, None] * np.linspace(-1.2 * _REACH, 1.2 * _REACH, nodes // _PANELS_PER_NODE + 1)

    def averaged_over_noise(i: int) -> Table:
        deviation = jnp.sqrt(noise[i])
        around = places[i].at_hand()
        return tabulate(lambda y: conditional_average(functions[i], around, y, deviation, _TABLE_NODES), ends[i])

    half = (len(K) + 1) // 2
    left, r, right = canonical_variables(K - jnp.diag(noise), half)
    tables = [averaged_over_noise(i) for i in range(len(K))]
    u = np.linspace(-_REACH, _REACH, nodes)
    F, G = _on_grid(tables[:half], left, u), _on_grid(tables[half:], right, u)
    if G.ndim < F.ndim:  # what the other group does not see averages out
        F = F @ jnp.asarray((u[1] - u[0]) * np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi))
    for correlation in r:  # each pass smooths the first axis and puts it last
        F = jnp.tensordot(F, _joint_density(correlation, u), axes=(0, 0))
    return jnp.sum(F * G)


def _on_grid(tables: Sequence[Table], root: Float[Array, "m m"], u: Float[np.ndarray, " q"]) -> Float[Array, "..."]:
    axes = jnp.meshgrid(*[jnp.asarray(u)] * len(root), indexing="ij")
    variables = jnp.tensordot(root, jnp.stack(axes), axes=(1, 0))
    factors = (table.on_equal_panels(z) for table, z in zip(tables, variables, strict=True))
    return functools.reduce(operator.mul, factors)


def _joint_density(r: Array, u: Float[np.ndarray, " q"]) -> Float[Array, "q q"]:
    """The weight of each pair of nodes for two standard normal variables of correlation r."""
    left, right = jnp.asarray(u)[:, None], jnp.asarray(u)[None, :]
    given = 1 - r**2
    exponent = -((left - right) ** 2 / 2 + (1 - r) * left * right) / given
    return (u[1] - u[0]) ** 2 / (2 * np.pi * jnp.sqrt(given)) * jnp.exp(exponent)
