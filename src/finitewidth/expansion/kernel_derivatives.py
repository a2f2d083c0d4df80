r"""The average $\kappa = \langle\sigma_\alpha\sigma_\beta\rangle_K$ and its derivatives in $K$, on pairs of samples.

The new kernel of a pair $(a,b)$ depends on three numbers only, $K_{aa}, K_{ab}, K_{bb}$, so every derivative of $\kappa$ is a
small tensor per pair. By Stein's lemma, PDLT (5.53),
$\partial_{aa}^p\,\partial_{ab}^q\,\partial_{bb}^r\,\langle\sigma_a\sigma_b\rangle
= 2^{-p-r}\langle\sigma_a^{(2p+q)}\sigma_b^{(2r+q)}\rangle$: no kernel is inverted and no delta function is sampled.
"""

import functools
import itertools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from ..activations import Activation, ScaleInvariant
from ..gaussian.line import line_rule
from ..gaussian.pairs import PairRule, is_on_grid, pair_moments, square_averages
from ..kernels.pairs import PairIndex

# 1 - rho^2 below which two inputs count as merged, for first and second derivatives: of values, and of slopes that jump, whose
# averages are known in closed form or to the accuracy of a quadrature.
_MERGED_VALUES = (-1.0, 1e-14)  # first derivatives of values never diverge
_MERGED_CLOSED, _MERGED_NUMERICALLY = (4e-12, 4e-7), (4e-9, 4e-7)
_ONE_NORM = 1e-2


def average_and_derivatives(
    activation: Activation, K: Float[Array, " P"], pairs: PairIndex, rule: PairRule, order: int
) -> list[Float[Array, "P ..."]]:
    r"""$[\kappa, D\kappa, D^2\kappa, \dots]$ up to `order`: arrays (P,), (P, 3), (P, 3, 3), ... over `pairs.local` positions.

    A diagonal pair depends on one number; its derivatives stand in the middle entry, the others are zero.
    """
    return _of_values_and_slopes(activation, K, pairs, rule, order, (0,))[0]


def averages_of_values_and_slopes(
    activation: Activation, K: Float[Array, " P"], pairs: PairIndex, rule: PairRule, order: int
) -> tuple[list[Float[Array, "P ..."]], ...]:
    r"""The same, and again for the average of slopes, $\langle\sigma'_\alpha\sigma'_\beta\rangle_K$."""
    return _of_values_and_slopes(activation, K, pairs, rule, order, (0, 1))


def _of_values_and_slopes(
    activation: Activation, K: Array, pairs: PairIndex, rule: PairRule, order: int, slopes: tuple[int, ...]
) -> tuple[list[Float[Array, "P ..."]], ...]:
    variances = K[pairs.diagonal]
    Kaa, Kbb = variances[pairs.a], variances[pairs.b]
    same = pairs.a == pairs.b
    # On a grid a sample pairs with itself like with any other; elsewhere coincidence is the diagonal's business.
    with_itself = is_on_grid(activation, rule) and not same.all()
    Kab = K if with_itself else jnp.where(same, 0.0, K)
    # A single input has no other to be averaged with: nothing of that need be compiled.
    exponents = [] if same.all() else [e for e in itertools.product(range(order + 1), repeat=3) if sum(e) <= order]
    orders = sorted({_derivatives(e, slope) for e in exponents for slope in slopes})
    moments = dict(zip(orders, pair_moments(activation, orders, Kaa, Kab, Kbb, rule), strict=True)) if orders else {}
    found = []
    for slope in slopes:
        table = {e: moments[_derivatives(e, slope)] / 2 ** (e[0] + e[2]) for e in exponents}
        derivatives = []
        if with_itself:
            own = [_along_the_diagonal(table, k) for k in range(order + 1)]
        else:
            own = [square[pairs.a] for square in square_averages(activation, variances, order, slope)]
        for k, single in enumerate(own):
            entries = []
            for which in itertools.product(range(3), repeat=k):
                on_diagonal = single if all(w == 1 for w in which) else jnp.zeros_like(K)
                between = table.get(tuple(which.count(w) for w in range(3)), on_diagonal)
                entries.append(jnp.where(same, on_diagonal, between))
            derivatives.append(jnp.stack(entries, axis=-1).reshape((len(same),) + (3,) * k))
        if order and activation.has_jump(1) and not same.all():
            separation = jnp.where(same, 1.0, 1 - Kab**2 / (Kaa * Kbb))
            derivatives = _without_divergence(activation, bool(slope), derivatives, separation, (Kaa, Kab, Kbb))
        found.append(derivatives)
    return tuple(found)


def _along_the_diagonal(table: dict[tuple[int, ...], Float[Array, " P"]], order: int) -> Float[Array, " P"]:
    r"""$(\partial_{aa} + \partial_{ab} + \partial_{bb})^k$, which for a pair of one sample is $d^k/dK^k$."""
    which = itertools.product(range(3), repeat=order)
    return functools.reduce(jnp.add, [table[tuple(each.count(w) for w in range(3))] for each in which])


def _derivatives(exponents: tuple[int, ...], slope: int) -> tuple[int, int]:
    r"""Of which derivatives $\partial_{aa}^p\,\partial_{ab}^q\,\partial_{bb}^r$ is the average."""
    p, q, r = exponents
    return 2 * p + q + slope, 2 * r + q + slope


def _without_divergence(
    activation: Activation,
    slopes: bool,
    derivatives: list[Array],
    separation: Float[Array, " P"],
    covariance: tuple[Array, Array, Array],
) -> list[Float[Array, "P ..."]]:
    r"""Where the slope jumps, derivatives of $\langle f_af_b\rangle$ diverge as two inputs merge: for $f = \sigma$ the second, as
    $1/\vartheta$ in their angle, for $f = \sigma'$ the first, as $1/\vartheta$, and the second, as $1/\vartheta^3$. The kernels of
    inputs that have all but merged fluctuate together, along $u = (K_{aa}, K_{ab}, K_{bb})$, and along it nothing diverges:

    $$u\cdot\partial\langle f_af_b\rangle = \tfrac12\langle f_af_b\,He_2(w)\rangle,\quad
      uu:\partial^2\langle f_af_b\rangle = \tfrac14\langle f_af_b\,He_4(w)\rangle,\qquad z_a = \sqrt{K_{aa}}\,w .$$

    Below the angles at which errors, which grow as derivatives do, would be larger than the angle itself, this is all that
    is kept.
    """
    Kaa, Kab, Kbb = covariance
    if isinstance(activation, ScaleInvariant):
        # Averages of values are of the first degree in u, those of slopes of degree zero: all that is ever kept along u vanishes.
        merged = [jnp.zeros_like(each) for each in derivatives[1:]]
    else:
        merged = _along_merged(activation, slopes, Kaa, Kab, Kbb)
    # Kinks away from zero are met at once only by inputs of one norm.
    together = jnp.ones_like(Kab, bool) if not any(activation.kinks) else jnp.abs(Kbb / Kaa - 1) < _ONE_NORM
    kept = [derivatives[0]]
    smallest_of = (_MERGED_NUMERICALLY, _MERGED_CLOSED)[activation.has_closed_pair] if slopes else _MERGED_VALUES
    for regular, limit, smallest in zip(derivatives[1:], merged, smallest_of, strict=False):
        where = (together & (separation < smallest)).reshape(-1, *[1] * (regular.ndim - 1))
        kept.append(jnp.where(where, limit, regular))
    return kept


def _along_merged(
    activation: Activation, slopes: bool, Kaa: Float[Array, " P"], Kab: Float[Array, " P"], Kbb: Float[Array, " P"]
) -> list[Float[Array, "P ..."]]:
    """The first two derivatives of merged inputs along u, as tensors."""
    z, weights = line_rule(Kaa, tuple(sorted({*activation.kinks, *(-kink for kink in activation.kinks)})))
    factor = activation.derivative(int(slopes))
    integrand = weights * factor(z) * factor((jnp.sign(Kab) * jnp.sqrt(Kbb / Kaa))[:, None] * z)
    w2 = z**2 / Kaa[:, None]
    along = jnp.sum(integrand * (w2 - 1), axis=1) / 2, jnp.sum(integrand * (w2**2 - 6 * w2 + 3), axis=1) / 4
    u = jnp.stack([Kaa, Kab, Kbb], axis=1)
    u_over_square = u / jnp.sum(u**2, axis=1, keepdims=True)
    return [
        along[0][:, None] * u_over_square,
        along[1][:, None, None] * u_over_square[:, :, None] * u_over_square[:, None, :],
    ]


def push_vector(Df: Float[Array, "P 3"], vector: Float[Array, "P *rest"], pairs: PairIndex) -> Float[Array, "P *rest"]:
    r"""$\sum_i f_i\,x_i$: the linearised layer acting on the first index."""
    return jnp.einsum("ps,ps...->p...", Df, vector[pairs.local])


def push_matrix(Df: Float[Array, "P 3"], matrix: Float[Array, "P P"], pairs: PairIndex) -> Float[Array, "P P"]:
    r"""$T\,v\,T^{\mathsf T}$ with $T = Df$."""
    return push_vector(Df, push_vector(Df, matrix, pairs).T, pairs).T


def local_block(matrix: Float[Array, "P P"], pairs: PairIndex) -> Float[Array, "P 3 3"]:
    """For each pair the entries of `matrix` between the three positions that it depends on."""
    local = np.asarray(pairs.local)
    return matrix[local[:, :, None], local[:, None, :]]
