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
from jaxtyping import Array, Float

from ..activations import Activation
from ..gaussian.function import ElementwiseFunction, differentiate
from ..gaussian.pairs import PairRule, pair_moment, square_average
from ..gaussian.powers import power
from ..networks.pairs import PairIndex


def average_and_derivatives(
    activation: Activation, K: Float[Array, " P"], pairs: PairIndex, rule: PairRule, order: int, slopes: bool = False
) -> list[Float[Array, "P ..."]]:
    r"""$[\kappa, D\kappa, D^2\kappa, \dots]$ up to `order`: arrays (P,), (P, 3), (P, 3, 3), ... over `pairs.local` positions.

    A diagonal pair depends on one number; its derivatives stand in the middle entry, the others are zero.
    With `slopes` the average is $\langle\sigma'_\alpha\sigma'_\beta\rangle_K$.
    """
    variances = K[pairs.diagonal]
    Kaa, Kbb = variances[pairs.a], variances[pairs.b]
    same = pairs.a == pairs.b
    Kab = jnp.where(same, 0.0, K)

    def mixed(p: int, q: int, r: int) -> Array:
        return pair_moment(activation, 2 * p + q + slopes, 2 * r + q + slopes, Kaa, Kab, Kbb, rule) / 2 ** (p + r)

    factor = power(activation, 0, 1) if slopes else activation
    square: ElementwiseFunction = functools.partial(square_average, factor)
    derivatives = []
    for k in range(order + 1):
        # A single input has no other to be averaged with: nothing of that need be compiled.
        orders = [] if same.all() else [pqr for pqr in itertools.product(range(k + 1), repeat=3) if sum(pqr) == k]
        table = {pqr: mixed(*pqr) for pqr in orders}
        single = square(variances)[pairs.a]
        entries = []
        for which in itertools.product(range(3), repeat=k):
            on_diagonal = single if all(w == 1 for w in which) else jnp.zeros_like(K)
            between = table.get(tuple(which.count(w) for w in range(3)), on_diagonal)
            entries.append(jnp.where(same, on_diagonal, between))
        derivatives.append(jnp.stack(entries, axis=-1).reshape((len(same),) + (3,) * k))
        square = differentiate(square)
    return derivatives


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
