r"""Averages of two functions with kinks, $\langle f(z_a)\,g(z_b)\rangle_K$, to rounding for every correlation.

The outer variable is $z_a = \sqrt{K_{aa}}\,u$, the inner one $z_b = \beta z_a + s\,\xi$. The inner average is split at
the kinks of $g$. As a function of $u$ it has layers, of width $s/|\beta|\sqrt{K_{aa}}$, where its mean $\beta z_a$ crosses
those kinks; the outer panels end there, and at the kinks of $f$. Nothing degrades as $\rho\to\pm1$: layers get thin.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from .gram_vectors import determinant
from .panels import (
    LAYER,
    Centres,
    beside,
    conditional_average,
    distance,
    few_panels,
    graded,
    normal_average,
    ratio,
    root,
    rungs,
)
from .places import PAIR_NODES, Places

_ROUNDING = 1e-14  # of 1 - rho^2: kernels of copies, averaged in two ways, differ by some ten roundings
PAIRS_AT_ONCE = 16  # some ten megabytes of nodes


def conditional_law(Kaa: Array, Kab: Array, Kbb: Array) -> tuple[Array, Array]:
    r"""$\beta = K_{ab}/K_{aa}$ and $s^2 = K_{bb} - K_{ab}^2/K_{aa}$ of $z_b = \beta z_a + s\,\xi$, also for $K_{aa} = 0$."""
    apart = determinant(*jnp.broadcast_arrays(Kaa, Kab, Kbb))
    # Below rounding nothing separates the variables: at a variance of 1e8 a difference of rounding alone is felt by a function.
    apart = jnp.where(apart > _ROUNDING * Kaa * Kbb, apart, 0.0)
    return ratio(Kab, Kaa), root(jnp.where(Kaa > 0, ratio(apart, Kaa), Kbb))


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
    (own, grading), graded_f = graded(rungs(slope, places_g)), graded(rungs(outer, places_f))
    centres = [Centres(kink, 0.0, *graded_f), Centres(mean_crossing, layer, jnp.maximum(own, layer), grading)]

    def integrand(u: Array) -> Array:
        inner = conditional_average(g, places_g, slope * u, deviation[..., None], PAIR_NODES, few=True)
        return f(outer * u) * inner

    return normal_average(few_panels(points, centres, PAIR_NODES), integrand, PAIR_NODES)
