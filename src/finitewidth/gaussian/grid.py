r"""Averages of smooth functions of two correlated variables on an equispaced grid, however close their correlation is to one.

The density of standard normal $u, v$ of correlation $r \ge 0$, over the roots of the densities of both, is a Gaussian in $u - v$ times
one in $u + v$:

$$\frac{\varphi(u, v)}{\sqrt{\varphi(u)\varphi(v)}} = e^{-\frac{1-r}{1+r}\frac{(u+v)^2}{8}}\;
  \frac1{2\pi}\int dk\;\frac2{1+r}\,e^{-2\frac{1-r}{1+r}k^2}\,e^{ik(u-v)} .$$

As $r\to1$ the first becomes too narrow for any grid. But waves shorter than two steps $h$ of the grid are not in the functions
$f\sqrt\varphi$ and $g\sqrt\varphi$ that the grid resolves, and can be left out: $|k| < \pi/h$. What is left, $S_{pq}$, is a function of
$p - q$ times another of $p + q$, is as good for every correlation as for $r = 1$, where it is the trapezoid rule for $fg$, and

$$\langle f(u)\,g(v)\rangle = \sum_{pq} f(u_p)\,S_{pq}\,g(u_q) .$$
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .._arrays import Array
from .derivatives import ElementwiseFunction, with_derivatives
from .hermite import as_data

Tree = TypeVar("Tree")

_SQUEEZED = 0.87  # a coarse grid gains a digit or two, and reaches 6.5 deviations still


class GridRule(eqx.Module):
    """Equispaced points for each variable, in tiles of which a program takes as many as the rule tells it when it runs. So rules of
    one `tile` and as many points in all share a program, whatever the variances that they are meant for: give them to `jit` as
    ordinary arguments. Made by `grid_rule`."""

    u: Float[Array, " q"]
    weights: Float[Array, " q"]
    """For averages over one variable; zero for points that are not in use."""
    tiles: Int[Array, ""]
    tile: int = eqx.field(static=True)

    @property
    def nodes(self) -> int:
        """How many points there are along a direction."""
        return int(self.tiles) * self.tile


def equispaced(nodes: int, reach: float = 9.0) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
    """Points and weights for averages over one standard normal variable."""
    u = np.linspace(-reach, reach, nodes)
    return u, (u[1] - u[0]) * np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)


def grid_rule(nodes: int, reach: float = 9.0, *, tile: int | None = None, most: int = 1) -> GridRule:
    """At least so many `nodes` within `reach` deviations, in tiles of a given size, with room for `most` of them."""
    tile = tile or nodes
    tiles = -(-nodes // tile)
    u, weights = equispaced(tiles * tile, reach)
    room = (0, (max(tiles, most) - tiles) * tile)
    points, their_weights, how_many = as_data(np.pad(u, room, mode="edge"), np.pad(weights, room), np.asarray(tiles))
    return GridRule(points, their_weights, how_many, tile)


def elsewhere(rules: Tree) -> Tree:
    """The same rules, but grids among them have as many points closer together: averages of another error, by the same program."""

    def squeezed(rule: Any) -> Any:
        if not isinstance(rule, GridRule):
            return rule
        u = _SQUEEZED * rule.u
        return dataclasses.replace(rule, u=u, weights=rule.weights * _SQUEEZED * jnp.exp((rule.u**2 - u**2) / 2))

    return jax.tree.map(squeezed, rules, is_leaf=lambda rule: isinstance(rule, GridRule))


def points(rule: GridRule, tile: Array) -> tuple[Float[Array, " t"], Float[Array, " t"]]:
    """Those of a tile, and their weights."""
    first = tile * rule.tile
    from_there = functools.partial(
        jax.lax.dynamic_slice_in_dim, start_index=first, slice_size=rule.tile, allow_negative_indices=False
    )
    return from_there(rule.u), from_there(rule.weights)


def tiles_of(step: Array, axes: int, rule: GridRule) -> list[Array]:
    """The tile along each of the axes that is met at this step, of which there are `tiles` to the power of `axes`."""
    at = []
    for _ in range(axes):
        at.append(jax.lax.rem(step, rule.tiles))  # of numbers that are not negative, unlike Python's
        step = jax.lax.div(step, rule.tiles)
    return at


def joint_weights(r: Float[Array, "*batch"], rule: GridRule) -> Callable[[Array, Array], Float[Array, "*batch t t"]]:
    """The tile (p, q) of the matrix S above for correlations `r` from zero to one."""
    narrow = ((1 - r) / (1 + r))[..., None]
    step, room = rule.u[1] - rule.u[0], len(rule.u)
    waves = np.pi * np.arange(room + 1) / room / step
    spectrum = 2 / (1 + r[..., None]) * jnp.exp(-2 * narrow * waves**2)
    by_distance = jnp.fft.irfft(spectrum, 2 * room)
    apart = np.arange(rule.tile)[:, None] - np.arange(rule.tile)

    def tile(p: Array, q: Array) -> Array:
        (u_p, weights_p), (u_q, weights_q) = points(rule, p), points(rule, q)
        along = jnp.exp(-narrow[..., None] * (u_p[:, None] + u_q) ** 2 / 8)
        return jnp.sqrt(weights_p[:, None] * weights_q) * along * by_distance[..., jnp.abs(apart + (p - q) * rule.tile)]

    return tile


def pair_averages(
    f: ElementwiseFunction,
    g: ElementwiseFunction,
    orders: Sequence[tuple[int, int]],
    Kaa: Array,
    Kab: Array,
    Kbb: Array,
    rule: GridRule,
) -> Float[Array, "orders *batch"]:
    r"""$\langle f^{(i)}(z_a)\,g^{(j)}(z_b)\rangle_K$ for all `orders` $(i, j)$ at once, elementwise over covariances of one shape;
    singular ones too."""
    i, j = (list(order) for order in zip(*orders, strict=True))
    rho = jnp.clip(Kab / jnp.sqrt(Kaa * Kbb), -1.0, 1.0)
    # Variables of negative correlation: one of them is turned around.
    deviations = jnp.sqrt(Kaa)[..., None], jnp.where(rho < 0, -jnp.sqrt(Kbb), jnp.sqrt(Kbb))[..., None]
    weights = joint_weights(jnp.abs(rho), rule)

    def add(step: Array, total: Array) -> Array:
        p, q = tiles_of(step, 2, rule)
        left = jnp.stack(with_derivatives(f, max(i))(deviations[0] * points(rule, p)[0]))
        right = jnp.stack(with_derivatives(g, max(j))(deviations[1] * points(rule, q)[0]))
        smoothed = jnp.einsum("...pq,j...q->j...p", weights(p, q), right)
        return total + jnp.sum(left[np.array(i)] * smoothed[np.array(j)], axis=-1)

    return jax.lax.fori_loop(0, rule.tiles**2, add, jnp.zeros((len(orders), *Kab.shape), Kab.dtype))
