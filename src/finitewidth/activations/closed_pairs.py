r"""Two-point averages $\kappa(K_{aa}, K_{ab}, K_{bb}) = \langle\sigma(z_a)\sigma(z_b)\rangle_K$ in closed form.

Derivatives of the activation are derivatives of $\kappa$ (Stein's lemma), so one formula gives every moment:
$\partial_{ab}\langle\sigma^{(i)}_a\sigma^{(j)}_b\rangle = \langle\sigma^{(i+1)}_a\sigma^{(j+1)}_b\rangle$ and
$2\,\partial_{aa}\langle\sigma^{(i)}_a\sigma^{(j)}_b\rangle = \langle\sigma^{(i+2)}_a\sigma^{(j)}_b\rangle$, PDLT (5.53).
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

from .._arrays import Array
from ..gaussian.angle import angle, arcsine, correlation, sine
from ..gaussian.gram_vectors import determinant

# Roots and inverses are taken of each variance alone: in a Gram matrix these are vectors, computed once per input.

PairFormula = Callable[[Array, Array, Array], Array]
MomentFormula = Callable[[int, int, Array, Array, Array], Array]
"""That of all moments of derivatives whose orders have an even sum."""

# Correlations this close to +-1 are taken as +-1: there the moments that diverge (delta functions on top of one
# another) enter every flow through combinations that vanish, and their rounding errors would not.
_COINCIDENT = 1e-14


def _partial(formula: PairFormula, argument: int) -> PairFormula:
    def derivative(*covariance: Array) -> Array:
        tangents = tuple(jnp.full_like(k, float(i == argument)) for i, k in enumerate(covariance))
        return jax.jvp(formula, covariance, tangents)[1]

    return derivative


def _twice_partial(formula: PairFormula, argument: int) -> PairFormula:
    derivative = _partial(formula, argument)
    return lambda *covariance: 2.0 * derivative(*covariance)


def raised(formula: PairFormula, i: int, j: int) -> PairFormula:
    r"""$\langle f^{(i)} g^{(j)}\rangle$ from a formula for $\langle f g\rangle$, by Stein's lemma; needs $i + j$ even."""
    for _ in range(min(i, j)):
        formula = _partial(formula, 1)
    for _ in range(abs(i - j) // 2):
        formula = _twice_partial(formula, 0 if i > j else 2)
    return formula


def coincident(Kaa: Array, Kab: Array, Kbb: Array) -> Array:
    """Whether the two variables are the same up to a factor."""
    return Kaa * Kbb - Kab**2 <= _COINCIDENT * Kaa * Kbb


def absolute_value_pair(i: int, j: int, Kaa: Array, Kab: Array, Kbb: Array) -> Array:
    r"""Moments of $|z|$: $\langle|z_a||z_b|\rangle = \tfrac2\pi[\Delta + K_{ab}\arcsin\rho]$, PDLT (5.159), and its derivatives.

    Those of order four diverge as $1/\Delta$ at coincidence, where they are set to zero.
    """
    if i < j:
        return absolute_value_pair(j, i, Kbb, Kab, Kaa)
    scale = jnp.sqrt(Kaa * Kbb)
    rho = correlation(Kab, scale)
    if (i, j) == (0, 0):  # a function of rho alone: its rounding error is then not amplified near coincidence
        return scale * (sine(rho) + rho * arcsine(rho)) * (2 / math.pi)
    if (i, j) == (1, 1):
        return arcsine(rho) * (2 / math.pi)
    if (i, j) == (2, 0):
        return jnp.sqrt(jnp.maximum(_exact_determinant(Kaa, Kab, Kbb), 0.0)) * (2 / math.pi) / Kaa

    def delta_functions(Kaa: Array, Kab: Array, Kbb: Array) -> Array:
        """The moment (2, 2): two delta functions of weight 2."""
        return 2 / (math.pi * jnp.sqrt(_exact_determinant(Kaa, Kab, Kbb)))

    singular = coincident(Kaa, Kab, Kbb)
    away = jnp.where(singular, 0.0, Kab)
    if j >= 2:
        moment = raised(delta_functions, i - 2, j - 2)
    elif j == 1:
        moment = raised(lambda a, c, b: -c / a * delta_functions(a, c, b), i - 3, 0)
    else:
        moment = raised(lambda a, c, b: (2 * c**2 - a * b) / a**2 * delta_functions(a, c, b), i - 4, 0)
    return jnp.where(singular, 0.0, moment(Kaa, away, Kbb))


def _exact_determinant(Kaa: Array, Kab: Array, Kbb: Array) -> Array:
    r"""$K_{aa}K_{bb} - K_{ab}^2$ without cancellation; its derivatives are those of the formula."""
    plain = Kaa * Kbb - Kab**2
    return plain + jax.lax.stop_gradient(determinant(*jnp.broadcast_arrays(Kaa, Kab, Kbb)) - plain)


def step_pair(i: int, j: int, Kaa: Array, Kab: Array, Kbb: Array) -> Array:
    r"""Moments of the step function: $\tfrac14 + \arcsin(\rho)/2\pi$; derivatives are zero at coincidence."""
    if (i, j) == (0, 0):
        return 0.25 + arcsine(correlation(Kab, jnp.sqrt(Kaa * Kbb))) / (2 * math.pi)
    singular = coincident(Kaa, Kab, Kbb)
    away = jnp.where(singular, 0.0, Kab)

    def formula(a: Array, c: Array, b: Array) -> Array:
        return jnp.arctan2(c, jnp.sqrt(a * b - c**2)) / (2 * math.pi)

    return jnp.where(singular, 0.0, raised(formula, i, j)(Kaa, away, Kbb))


def _determinant(Kaa: Array, Kab: Array, Kbb: Array) -> Array:
    r"""$K_{aa}K_{bb} - K_{ab}^2$, zero where that is rounding, which at large variances is not small; its derivatives all the same."""
    determinant = Kaa * Kbb - Kab**2
    rounding = jnp.where(determinant <= _COINCIDENT * Kaa * Kbb, determinant, 0.0)
    return determinant - jax.lax.stop_gradient(rounding)


def erf_pair(i: int, j: int, Kaa: Array, Kab: Array, Kbb: Array) -> Array:
    r"""$\tfrac2\pi\arcsin\frac{2K_{ab}}{\sqrt{(1+2K_{aa})(1+2K_{bb})}} =
    \tfrac2\pi\arctan\frac{2K_{ab}}{\sqrt D}$ with $D = 1 + 2K_{aa} + 2K_{bb} + 4(K_{aa}K_{bb} - K_{ab}^2)$, and its derivatives,
    of which the first by $K_{ab}$ is $\frac4{\pi\sqrt D}$."""

    def adjacent(Kaa: Array, Kab: Array, Kbb: Array) -> Array:
        return jnp.sqrt(1 + 2 * (Kaa + Kbb) + 4 * _determinant(Kaa, Kab, Kbb))

    if i and j:
        return raised(lambda *K: (4 / math.pi) / adjacent(*K), i - 1, j - 1)(Kaa, Kab, Kbb)
    return raised(lambda *K: (2 / math.pi) * angle(2 * K[1], adjacent(*K)), i, j)(Kaa, Kab, Kbb)


def gelu_pair(i: int, j: int, Kaa: Array, Kab: Array, Kbb: Array) -> Array:
    r"""With $A = 1 + K_{aa}$, $B = 1 + K_{bb}$, $D = AB - K_{ab}^2$ and $\omega = \frac\pi2 + \arctan\frac{K_{ab}}{\sqrt D}$,

    $$2\pi\langle\sigma\sigma\rangle = K_{ab}\,\omega + \frac{K_{aa}K_{bb} - K_{ab}^2 + K_{ab}^2(1/A + 1/B)}{\sqrt D},\qquad
      2\pi\langle\sigma'\sigma'\rangle = \omega + \frac{K_{ab}}{\sqrt D}\Big(\frac1A + \frac1B + \frac1D\Big),$$

    without an angle

    $$2\pi\langle\sigma''\sigma\rangle = \frac{(D/A - 1)(1 + B/D) - 2K_{ab}^2/A^2}{\sqrt D},\qquad
      2\pi\langle\sigma''\sigma''\rangle = \frac{D^2 + (A + B)D + AB + 2K_{ab}^2}{D^{5/2}},$$

    and derivatives of these for higher ones: JAX's own of the first would make programs twice as long.
    """
    if i < j:
        return gelu_pair(j, i, Kbb, Kab, Kaa)
    if j >= 2:
        return raised(_gelu_curvatures, i - 2, j - 2)(Kaa, Kab, Kbb)
    if j == 1:
        return raised(_gelu_slopes, i - 1, 0)(Kaa, Kab, Kbb)
    return raised(_gelu_curvature, i - 2, 0)(Kaa, Kab, Kbb) if i else _gelu_values(Kaa, Kab, Kbb)


def _gelu_values(Kaa: Array, Kab: Array, Kbb: Array) -> Array:
    determinant = _determinant(Kaa, Kab, Kbb)
    adjacent = jnp.sqrt(1 + Kaa + Kbb + determinant)
    rational = determinant + Kab**2 * (1 / (1 + Kaa) + 1 / (1 + Kbb))
    return (Kab * _gelu_angle(Kab, adjacent) + rational / adjacent) / (2 * math.pi)


def _gelu_slopes(Kaa: Array, Kab: Array, Kbb: Array) -> Array:
    D = 1 + Kaa + Kbb + _determinant(Kaa, Kab, Kbb)
    adjacent = jnp.sqrt(D)
    rational = Kab * (1 / (1 + Kaa) + 1 / (1 + Kbb) + 1 / D)
    return (_gelu_angle(Kab, adjacent) + rational / adjacent) / (2 * math.pi)


def _gelu_curvature(Kaa: Array, Kab: Array, Kbb: Array) -> Array:
    determinant = _determinant(Kaa, Kab, Kbb)
    A, B, D = 1 + Kaa, 1 + Kbb, 1 + Kaa + Kbb + determinant
    left = (Kbb + determinant) / A
    return (left + left * B / D - 2 * (Kab / A) ** 2) / (2 * math.pi * jnp.sqrt(D))


def _gelu_curvatures(Kaa: Array, Kab: Array, Kbb: Array) -> Array:
    A, B, D = 1 + Kaa, 1 + Kbb, 1 + Kaa + Kbb + _determinant(Kaa, Kab, Kbb)
    return (D * (D + A + B) + A * B + 2 * Kab**2) / (2 * math.pi * D**2 * jnp.sqrt(D))


def _gelu_angle(Kab: Array, adjacent: Array) -> Array:
    """Small for large opposite inputs, and exact there."""
    return angle(adjacent, -Kab)


def monomial_pair(p: int, q: int, Kaa: Array, Kab: Array, Kbb: Array) -> Array:
    r"""$\langle z_a^p z_b^q\rangle$ by Wick's theorem, grouped by the number $k$ of contractions between $a$ and $b$."""
    if p < 0 or q < 0 or (p + q) % 2:
        return jnp.zeros_like(Kab)
    total = jnp.zeros_like(Kab)
    for k in range(p % 2, min(p, q) + 1, 2):
        within_a, within_b = (p - k) // 2, (q - k) // 2
        count = (
            math.factorial(p)
            * math.factorial(q)
            / (math.factorial(k) * math.factorial(within_a) * math.factorial(within_b) * 2 ** (within_a + within_b))
        )
        total = total + count * Kab**k * Kaa**within_a * Kbb**within_b
    return total
