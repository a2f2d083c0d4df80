r"""What one layer of $n$ neurons adds: averages of four factors of a single neuron, on pairs of pairs of samples."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..activations import Activation
from ..gaussian.hermite import HermiteRule
from ..networks.pairs import PairIndex
from .multisets import multiset_averages, multisets


def four_point_average(
    activation: Activation, K: Float[Array, " P"], pairs: PairIndex, rule: HermiteRule | None, slopes: int
) -> Float[Array, "P P"]:
    r"""$\langle\sigma_a\sigma_b\sigma_c\sigma_d\rangle_K$ for all pairs $(ab)$, $(cd)$, with the last `slopes` factors, 0, 2 or 4
    of them, replaced by $\sigma'$."""
    chosen = multisets(len(pairs.of), 4 - slopes, slopes)
    indices = np.stack(np.broadcast_arrays(pairs.a[:, None], pairs.b[:, None], pairs.a, pairs.b), axis=-1)
    return multiset_averages(activation, pairs.unpack(K), chosen, rule)[chosen.positions(indices)]


def vertex_source(
    activation: Activation,
    K: Float[Array, " P"],
    second: Float[Array, " P"],
    pairs: PairIndex,
    rule: HermiteRule | None,
) -> Float[Array, "P P"]:
    r"""$\mathrm{Cov}_K(\sigma_a\sigma_b, \sigma_c\sigma_d)$, PDLT (4.40), given `second` $= \langle\sigma_a\sigma_b\rangle$."""
    return four_point_average(activation, K, pairs, rule, slopes=0) - jnp.outer(second, second)
