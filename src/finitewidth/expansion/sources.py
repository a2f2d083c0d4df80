r"""What one layer of $n$ neurons adds: averages of four factors of a single neuron, on pairs of pairs of samples."""

import numpy as np
from jaxtyping import Float

from .._arrays import Array
from ..activations import Activation
from ..gaussian.products import ProductRule
from ..kernels.pairs import PairIndex
from .multisets import multiset_averages, multisets


def four_point_averages(
    activation: Activation, K: Float[Array, " P"], pairs: PairIndex, rule: ProductRule, slopes: tuple[int, ...]
) -> list[Float[Array, "P P"]]:
    r"""$\langle\sigma_a\sigma_b\sigma_c\sigma_d\rangle_K$ for all pairs $(ab)$, $(cd)$, once for each entry of `slopes`: the last so
    many factors, 0, 2 or 4 of them, are replaced by $\sigma'$."""
    kinds = tuple((4 - each, each) for each in slopes)
    chosen = multisets(len(pairs.of), kinds)
    indices = np.stack(np.broadcast_arrays(pairs.a[:, None], pairs.b[:, None], pairs.a, pairs.b), axis=-1)
    averages = multiset_averages(activation, pairs.unpack(K), chosen, rule)
    return [averages[chosen.positions(kind, indices)] for kind in kinds]


def vertex_source(
    activation: Activation,
    K: Float[Array, " P"],
    second: Float[Array, " P"],
    pairs: PairIndex,
    rule: ProductRule,
) -> Float[Array, "P P"]:
    r"""$\mathrm{Cov}_K(\sigma_a\sigma_b, \sigma_c\sigma_d)$, PDLT (4.40), given `second` $= \langle\sigma_a\sigma_b\rangle$."""
    (fourth,) = four_point_averages(activation, K, pairs, rule, slopes=(0,))
    return fourth - second[:, None] * second
