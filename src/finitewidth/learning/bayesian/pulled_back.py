r"""A linear functional of the output layer's metric as a functional of the metric of every layer before."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ...activations import Activation
from ...expansion.kernel_derivatives import average_and_derivatives
from ...gaussian.accuracy import pair_rule
from ...gaussian.pairs import PairRule
from ...kernels.pairs import PairIndex, pair_index
from ...networks import MLP, Layer


def pulled_back(
    net: MLP, kernels: Float[np.ndarray, "L A A"], S: Float[np.ndarray, "A A"]
) -> Float[np.ndarray, "L A A"]:
    r"""$S_{(m)}^{ef} = \sum_{ab}S_{(m+1)}^{ab}J^{(m)}_{ab}{}^{ef}$ with $J^{(m)} = \partial K^{(m+1)}/\partial K^{(m)}$, from
    $S_{(L)} = S$: what a small change of the kernel of layer $m$ does to $\sum_{ab}S^{ab}K^{(L)}_{ab}$.
    Layer $m$ stands at index $m - 1$."""
    pairs = pair_index(len(S))
    rule = pair_rule(net.activation, float(np.diagonal(kernels, axis1=1, axis2=2).max()), derivatives=2)
    twice = np.where(pairs.a == pairs.b, 1.0, 2.0)  # an unordered pair stands for two entries
    packed = _every_layer(net.activation, net.layers[1:], pairs.pack(kernels), twice * pairs.pack(S), pairs, rule)
    return np.asarray(pairs.unpack(np.asarray(packed) / twice))


@compiled_in_haste(static_argnums=(0, 4))
def _every_layer(
    activation: Activation,
    layers: Layer,
    K: Float[Array, "L P"],
    s: Float[Array, " P"],
    pairs: PairIndex,
    rule: PairRule,
) -> Float[Array, "L P"]:
    def back(s: Array, before: tuple[Array, Layer]) -> tuple[Array, Array]:
        kernel, layer = before
        _, first = average_and_derivatives(activation, kernel, pairs, rule, order=1)
        s = jnp.zeros_like(s).at[pairs.local].add(layer.C_W * first * s[:, None])
        return s, s

    _, earlier = jax.lax.scan(back, s, (K[:-1], layers), reverse=True)
    return jnp.concatenate([earlier, s[None]])
