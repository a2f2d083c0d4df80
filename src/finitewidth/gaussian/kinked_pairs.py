r"""Averages of two functions with kinks, $\langle f(z_a)\,g(z_b)\rangle_K$, to rounding for every correlation.

The outer variable is $z_a = \sqrt{K_{aa}}\,u$, the inner one $z_b = \beta z_a + s\,\xi$. The inner average is split at
the kinks of $g$. As a function of $u$ it has layers, of width $s/|\beta|\sqrt{K_{aa}}$, where its mean $\beta z_a$ crosses
those kinks; the outer panels end there, and at the kinks of $f$. Nothing degrades as $\rho\to\pm1$: layers get thin.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from .panels import LAYER, beside, conditional_average, distance, normal_rule, ratio, root, rungs
from .places import PAIR_NODES, Places

_ROUNDING = 1e-15  # of 1 - rho^2
PAIRS_AT_ONCE = 16  # some ten megabytes of nodes


def conditional_law(Kaa: Array, Kab: Array, Kbb: Array) -> tuple[Array, Array]:
    r"""$\beta = K_{ab}/K_{aa}$ and $s^2 = K_{bb} - K_{ab}^2/K_{aa}$ of $z_b = \beta z_a + s\,\xi$, also for $K_{aa} = 0$."""
    determinant = Kaa * Kbb - Kab**2
    # Below rounding nothing separates the variables: at a variance of 1e8 a difference of rounding alone is felt by a function.
    determinant = jnp.where(determinant > _ROUNDING * Kaa * Kbb, determinant, 0.0)
    return ratio(Kab, Kaa), root(jnp.where(Kaa > 0, ratio(determinant, Kaa), Kbb))


def average_pair(
    f: Callable[[Array], Array],
    g: Callable[[Array], Array],
    places_f: Places,
    places_g: Places,
    Kaa: Float[Array, "*batch"],
    Kab: Float[Array, "*batch"],
    Kbb: Float[Array, "*batch"],
) -> Float[Array, "*batch"]:
    r"""$\langle f(z_a)\,g(z_b)\rangle_K$, elementwise over covariances, all at once in memory."""
    beta, deviation = conditional_law(Kaa, Kab, Kbb)
    outer = root(Kaa)[..., None]
    slope = beta[..., None] * outer
    kink, mean_crossing = (ratio(p.array, s) for p, s in ((places_f, outer), (places_g, slope)))
    layer = distance(LAYER * deviation[..., None], slope)
    points = [
        kink,
        beside(kink, *rungs(outer, places_f)),
        mean_crossing,
        beside(mean_crossing, layer, *rungs(slope, places_g)),
    ]
    u, weights = normal_rule(points, PAIR_NODES)
    inner = conditional_average(g, places_g, slope[..., None] * u, deviation[..., None, None], PAIR_NODES)
    return jnp.sum(weights * f(outer[..., None] * u) * inner, axis=(-2, -1))
