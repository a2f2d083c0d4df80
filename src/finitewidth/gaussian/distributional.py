r"""Two-point averages $\langle f^{(i)}(z_a)\,g^{(j)}(z_b)\rangle_K$ of derivatives of kinked functions, as distributions.

With jumps $J_m(t)$ of the $m$-th derivative at the kinks $t$, a derivative is its regular part and delta functions,

$$f^{(i)} = f^{(i)}_{\rm reg} + \sum_t\sum_{m<i} J_m(t)\,\delta^{(i-1-m)}(z - t) ,$$

and a delta function fixes one variable of the pair: with $\varphi_a$ the density of $z_a$ and $\beta = K_{ab}/K_{aa}$,

$$\langle\delta^{(p)}(z_a - t)\,G(z_b)\rangle = (-\partial_x)^p\big[\varphi_a(x)\,\langle G\,|\,z_a = x\rangle\big]_{x=t} ,\qquad
\partial_x\langle G\,|\,x\rangle = \beta\,\langle G'\,|\,x\rangle .$$

These are the averages that Stein's lemma asks for, PDLT (5.53), when an average is differentiated by the covariance.
At coincidence, $|\rho| = 1$, two delta functions on top of one another diverge; there their product counts as zero.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike

from .._arrays import Array
from .._errors import DomainError
from .function import Function
from .kinked_pairs import PAIRS_AT_ONCE, average_pair, conditional_law
from .panels import conditional_average, elementwise_in_chunks, ratio, root
from .places import PAIR_NODES, PanelRule, Places

_COINCIDENT = 1e-14  # of 1 - rho^2: the delta functions of two variables this close count as zero on each other
_SHARP = 1e-12  # deviation, in its own units, left at coincidence: the two sides of a kink count half each
_FINITE = "functions whose derivatives are finite beside their kinks"
_ROUNDING = 1e-9  # one-sided limits are taken at a small distance: jumps below this are none


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3, 7))
def distributional_pair(
    function_a: Function,
    i: int,
    function_b: Function,
    j: int,
    Kaa: ArrayLike,
    Kab: ArrayLike,
    Kbb: ArrayLike,
    rule: PanelRule | None = None,
) -> Array:
    r"""$\langle f^{(i)}(z_a)\,g^{(j)}(z_b)\rangle_K$ with its delta functions, elementwise over covariances that broadcast."""
    for function, order in ((function_a, i), (function_b, j)):
        if order > 1 and function.kinks and function.is_infinite(order):
            got = f"a derivative of order {order} that is infinite beside a kink"
            raise DomainError("functions", got, _FINITE)

    def formula(Kaa: Array, Kab: Array, Kbb: Array) -> Array:
        a, b = (f.places.reaching(rule) for f in (function_a, function_b))
        if function_a.vanishes(i) or function_b.vanishes(j):
            regular = jnp.zeros_like(Kab)
        else:
            regular = average_pair(function_a.derivative(i), function_b.derivative(j), a, b, Kaa, Kab, Kbb)
        reach = rule.reach if rule else math.inf
        deltas_a = _against_deltas(function_a, i, function_b, j, 0, b, reach, (Kaa, Kab, Kbb))
        deltas_b = _against_deltas(function_b, j, function_a, i, i, a, reach, (Kbb, Kab, Kaa))
        return regular + deltas_a + deltas_b

    covariance = [jnp.asarray(entry, dtype=float) for entry in (Kaa, Kab, Kbb)]
    return elementwise_in_chunks(formula, covariance, PAIRS_AT_ONCE)


def _jumps(function: Function, order: int, reach: float) -> list[tuple[float, float]]:
    """The kinks within reach at which the derivative of this order jumps, each with its jump."""
    if not function.kinks:
        return []
    with jax.ensure_compile_time_eval():
        jumps = np.asarray(function.jumps(order))
    if function.is_infinite(order):
        got = f"a derivative of order {order + 1} across a kink beside which that of order {order} is infinite"
        raise DomainError("functions", got, _FINITE)
    jumping = zip(function.kinks, jumps, strict=True)
    return [(at, float(jump)) for at, jump in jumping if abs(jump) > _ROUNDING * function.size and abs(at) <= reach]


def _density(x: Array, variance: Array, order: int) -> Array:
    r"""The derivative $\varphi^{(n)}(x)$ of the density of $N(0, \text{variance})$; zero where the variance is."""
    deviation = root(variance)
    u = ratio(x, deviation)
    hermite = np.polynomial.hermite_e.herme2poly([0.0] * order + [(-1.0) ** order])
    polynomial = jnp.polyval(jnp.asarray(hermite[::-1], u.dtype), u)
    return ratio(polynomial * jnp.exp(-(u**2) / 2), math.sqrt(2 * math.pi) * deviation ** (order + 1))


def _against_deltas(
    f: Function,
    i: int,
    g: Function,
    j: int,
    smooth: int,
    places: Places,
    reach: float,
    covariance: tuple[Array, Array, Array],
) -> Array:
    r"""The delta functions of $f^{(i)}(z_a)$, averaged against $g^{(j)}(z_b)$, which varies around `places`.

    Delta functions of $g$ from jumps in its derivatives below order `smooth` do not count: to the product of two
    distributions, the regular part of one against the deltas of the other and the deltas of both contribute once each.
    """
    Kaa, Kab, Kbb = covariance
    beta, deviation = conditional_law(Kaa, Kab, Kbb)
    separate = Kaa * Kbb - Kab**2 > _COINCIDENT * Kaa * Kbb
    variance = jnp.where(separate, deviation**2, 0.0)
    sharp = jnp.maximum(deviation, _SHARP * root(Kbb))

    def conditional(order: int, mean: Array) -> Array:
        r"""$\langle g^{(order)}(z_b)\rangle$ for $z_b\sim N(\text{mean}, s^2)$."""
        total = jnp.zeros_like(mean)
        if not g.vanishes(order):
            total += conditional_average(g.derivative(order), places, mean, sharp, PAIR_NODES)
        for m in range(smooth, order):
            for kink, jump in _jumps(g, m, reach):
                total += jump * (-1) ** (order - 1 - m) * _density(kink - mean, variance, order - 1 - m)
        return total

    total = jnp.zeros_like(Kab)
    for m in range(i):
        p = i - 1 - m
        for kink, jump in _jumps(f, m, reach):
            for q in range(p + 1):  # Leibniz' rule
                density = _density(jnp.full_like(Kaa, kink), Kaa, p - q)
                total += jump * (-1) ** p * math.comb(p, q) * density * beta**q * conditional(j + q, beta * kink)
    return total
