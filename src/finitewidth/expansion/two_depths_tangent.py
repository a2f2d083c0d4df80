r"""What the tangent kernel of a residual network needs of one neuron at two depths.

With $f = \sigma\sigma$ and $p = \sigma'\sigma'$ on pairs of samples, early ($s$) and late ($t$): covariances of $f$ and $p$, and, by
Stein's lemma from derivatives in the covariances of the path, averages with derivatives of either; no delta function of a kink is sampled.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from ..activations import Activation
from ..gaussian.products import ProductRule
from ..kernels.pairs import PairIndex
from .multisets import multiset_averages
from .two_depths import early_and_late, joint_kernel

_VALUES_EARLY, _SLOPES_EARLY = ((0, 0), (0, 1)), ((1, 0), (1, 1))


class BetweenDepths(NamedTuple):
    """Of two depths, or of many pairs of them along first axes."""

    covariance: Float[Array, "*depths 2*P 2*P"]
    """Of $(f, p)$ early with $(f, p)$ late."""
    slope: Float[Array, "*depths P P 2*P"]
    r"""$\mathrm{Cov}(f_m, \partial f)$ and $\mathrm{Cov}(f_m, \partial p)$, first the entry of the late kernel that $\partial$ means."""
    crossed: Float[Array, "*depths N N N N"]
    r"""$\langle(\sigma_\alpha\sigma'_3)(\sigma_\beta\sigma'_4)\rangle$, early and late, axes $\alpha3\beta4$."""
    curved: Float[Array, "*depths N 2 N P"]
    r"""$\langle(\sigma_\alpha\sigma'_i)\,\partial_\delta p_{12}\rangle$ for $i = 1, 2$, axes $\alpha i\delta(12)$."""


def between_depths(
    activation: Activation,
    early: Float[Array, " P"],
    late: Float[Array, " P"],
    memory: Float[Array, ""],
    averages: tuple[Float[Array, " both"], Float[Array, " both"]],
    late_slope: Float[Array, "P both"],
    pairs: PairIndex,
    rule: ProductRule,
) -> BetweenDepths:
    r"""All of it for one neuron of kernels `early` and `late`, which remembers $\gamma^{t-s}$ = `memory`.

    `averages` are those of $(f, p)$ early and late, `late_slope` the derivative of the late ones, entry of the kernel first.
    """
    samples, size = len(pairs.of), len(early)
    one, other = (np.broadcast_to(each[:, None], (size, size)) for each in (pairs.a, pairs.b))
    first, second = np.stack([one, other], axis=-1), np.stack([one.T, other.T], axis=-1) + samples
    values, slopes = (early_and_late(samples, kinds) for kinds in (_VALUES_EARLY, _SLOPES_EARLY))

    def products(late: Array, between: Array) -> Array:
        found = multiset_averages(
            activation, joint_kernel(pairs.unpack(early), pairs.unpack(late), between), values, rule
        )
        both = np.concatenate([first, second], axis=-1)
        return jnp.concatenate([found[values.positions(kind, both)] for kind in ((4, 0), (2, 2))], axis=1)

    between = memory * pairs.unpack(early)
    of_values, push = jax.linearize(products, late, between)
    directions = jnp.eye(size + samples**2, dtype=late.dtype)
    along = jax.vmap(lambda each: push(each[:size], each[size:].reshape(samples, samples)))(directions)
    along_late, across = along[:size], along[size:].reshape(samples, samples, size, 2 * size)
    found = multiset_averages(activation, joint_kernel(pairs.unpack(early), pairs.unpack(late), between), slopes, rule)
    of_slopes = jnp.concatenate(
        [
            found[slopes.positions((2, 2), np.concatenate([second, first], axis=-1))],
            found[slopes.positions((0, 4), np.concatenate([first, second], axis=-1))],
        ],
        axis=1,
    )
    moments = jnp.concatenate([of_values, of_slopes])
    centred = along_late - averages[0][:size, None] * late_slope[:, None, :]
    return BetweenDepths(
        moments - averages[0][:, None] * averages[1],
        centred,
        _crossed(across[..., :size], pairs),
        _curved(across[..., size:], pairs),
    )


def _one_of_two(samples: int) -> Float[np.ndarray, "N N"]:
    r"""$\sigma_\alpha\sigma'_3 = \partial_3(\sigma_\alpha\sigma_3)$, but for one sample, where the derivative counts twice."""
    return 1 - np.eye(samples) / 2


def _crossed(across: Float[Array, "N N P P"], pairs: PairIndex) -> Float[Array, "N N N N"]:
    alpha, three, beta, four = np.indices((len(pairs.of),) * 4)
    half = _one_of_two(len(pairs.of))
    return across[three, four, pairs.of[alpha, three], pairs.of[beta, four]] * half[alpha, three] * half[beta, four]


def _curved(across: Float[Array, "N N P P"], pairs: PairIndex) -> Float[Array, "N 2 N P"]:
    samples, size = len(pairs.of), len(pairs.a)
    alpha, side, delta, pair = np.indices((samples, 2, samples, size))
    own = np.stack([pairs.a, pairs.b])[side, pair]
    return across[own, delta, pairs.of[alpha, own], pair] * _one_of_two(samples)[alpha, own]
