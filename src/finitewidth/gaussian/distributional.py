r"""Two-point averages of derivatives of kinked functions, $\langle f^{(i)}(z_a)\,g^{(j)}(z_b)\rangle_K$, as distributions.

With jumps $J_m(t)$ of the $m$-th derivative at the kinks $t$, a derivative is its regular part and delta functions,
$$f^{(i)} = f^{(i)}_{\rm reg} + \sum_t\sum_{m<i} J_m(t)\,\delta^{(i-1-m)}(z - t) ,$$
and a delta function fixes one variable of the Gaussian pair,
$$\langle\delta^{(p)}(z_a - t)\,G(z_b)\rangle = (-1)^p\,\partial_x^p\big[\varphi_a(x)\,\langle G(z_b)\,|\,z_a = x\rangle\big]_{x=t} ,\qquad
\partial_x\langle G\,|\,x\rangle = \beta\,\langle G'\,|\,x\rangle ,$$
with $\varphi_a$ the density of $z_a$ and $\beta = K_{ab}/K_{aa}$. These are the averages that Stein's lemma, PDLT (5.53), asks for:
$\partial_{ab}\langle f^{(i)}g^{(j)}\rangle = \langle f^{(i+1)}g^{(j+1)}\rangle$, $2\,\partial_{aa}\langle f^{(i)}g^{(j)}\rangle = \langle f^{(i+2)}g^{(j)}\rangle$.
At coincidence, $|\rho| = 1$, two delta functions on top of one another diverge; there their product counts as zero.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike

from .function import Function
from .kinked_pairs import PAIR_NODES, PAIRS_AT_ONCE, average_pair, conditional_law
from .panels import conditional_average, elementwise_in_chunks, ratio, root

_COINCIDENT = 1e-14  # of 1 - rho^2: the delta functions of two variables this close count as zero on each other
_ROUNDING = 1e-9  # one-sided limits are taken at a small distance: jumps below this are none


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def distributional_pair(
    function_a: Function, i: int, function_b: Function, j: int, Kaa: ArrayLike, Kab: ArrayLike, Kbb: ArrayLike
) -> Array:
    r"""$\langle f^{(i)}(z_a)\,g^{(j)}(z_b)\rangle_K$ with all delta functions, elementwise over covariances that broadcast."""

    def formula(Kaa: Array, Kab: Array, Kbb: Array) -> Array:
        regular = average_pair(
            function_a.derivative(i), function_b.derivative(j), _kinks(function_a), _kinks(function_b), Kaa, Kab, Kbb
        )
        on_a = _deltas_times_derivative(function_a, i, function_b, j, 0, Kaa, Kab, Kbb)
        on_b = _deltas_times_derivative(function_b, j, function_a, i, i, Kbb, Kab, Kaa)
        return regular + on_a + on_b

    return elementwise_in_chunks(formula, [jnp.asarray(entry) for entry in (Kaa, Kab, Kbb)], PAIRS_AT_ONCE)


def _kinks(function: Function) -> Array:
    return jnp.asarray(function.kinks or (0.0,))


def _jumps(function: Function, order: int) -> list[tuple[float, float]]:
    """The kinks at which the derivative of this order jumps, each with its jump."""
    if not function.kinks:
        return []
    with jax.ensure_compile_time_eval():
        jumps = np.asarray(function.jumps(order))
    return [(kink, float(jump)) for kink, jump in zip(function.kinks, jumps, strict=True) if abs(jump) > _ROUNDING]


def _density(x: Array, variance: Array, order: int) -> Array:
    r"""The derivative $\varphi^{(n)}(x)$ of the density of $N(0, \text{variance})$; zero where the variance is."""
    deviation = root(variance)
    u = ratio(x, deviation)
    hermite = np.polynomial.hermite_e.herme2poly([0.0] * order + [(-1.0) ** order])
    polynomial = jnp.polyval(jnp.asarray(hermite[::-1], u.dtype), u)
    return ratio(polynomial * jnp.exp(-(u**2) / 2), math.sqrt(2 * math.pi) * deviation ** (order + 1))


def _deltas_times_derivative(
    f: Function, i: int, g: Function, j: int, regular_to: int, Kaa: Array, Kab: Array, Kbb: Array
) -> Array:
    r"""The delta functions of $f^{(i)}(z_a)$ against $g^{(j)}(z_b)$, of which the first `regular_to` derivatives count
    without their delta functions (those are in $f$'s partner term)."""
    beta, deviation = conditional_law(Kaa, Kab, Kbb)
    variance = jnp.where(Kaa * Kbb - Kab**2 > _COINCIDENT * Kaa * Kbb, deviation**2, 0.0)

    def conditional(order: int, mean: Array) -> Array:
        r"""$\langle g^{(order)}(z_b)\,|\,z_a\rangle$ with $z_b\sim N(\text{mean}, s^2)$."""
        total = conditional_average(g.derivative(order), _kinks(g), mean, deviation, PAIR_NODES)
        for m in range(regular_to, order):
            for kink, jump in _jumps(g, m):
                total = total + jump * (-1) ** (order - 1 - m) * _density(kink - mean, variance, order - 1 - m)
        return total

    total = jnp.zeros_like(Kab)
    for m in range(i):
        p = i - 1 - m
        for kink, jump in _jumps(f, m):
            for q in range(p + 1):
                weight = jump * (-1) ** p * math.comb(p, q) * _density(jnp.full_like(Kaa, kink), Kaa, p - q)
                total = total + weight * beta**q * conditional(j + q, beta * kink)
    return total
