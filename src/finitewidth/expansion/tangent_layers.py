r"""What each layer's biases and weights contribute to the tangent kernel of the output, for many inputs at infinite width.

$$\Theta^{(L)}_{12} = \sum_{\ell=1}^L\big[\lambda_b^{(\ell)} + \lambda_W^{(\ell)}\,g^{(\ell-1)}_{12}\big]
  \prod_{\ell'=\ell}^{L-1}\chi^{(\ell')}_{\perp,12},\qquad
  \chi^{(\ell)}_{\perp,12} = C_W^{(\ell+1)}\langle\sigma'_1\sigma'_2\rangle_{K^{(\ell)}},\quad
  g^{(\ell)}_{12} = \langle\sigma_1\sigma_2\rangle_{K^{(\ell)}},\quad g^{(0)}_{12} = \tfrac1{n_0}x_1\cdot x_2 :$$

PDLT (9.28)-(9.30) for more than one input.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array, at_hand, diagonal
from .._compile import compiled_in_haste
from .._entry import entry
from .._result import Result
from ..activations import Activation
from ..gaussian.accuracy import gram_rule
from ..gaussian.pairs import PairRule
from ..kernels.kernel_map import gram, largest_variance
from ..kernels.start import first_kernel, first_overlap
from ..kernels.tangent_map import check_has_tangent_kernel
from ..networks import Layer, LayeredNetwork


class TangentContributions(Result, eqx.Module):
    r"""Layer $\ell$ at index $\ell-1$, samples along the other two axes."""

    axes = ("layer",)

    bias: Float[Array, "L N N"]
    r"""$\lambda_b^{(\ell)}\prod\chi_\perp$: what the biases of layer $\ell$ add to $\Theta^{(L)}$."""
    weight: Float[Array, "L N N"]
    r"""$\lambda_W^{(\ell)}g^{(\ell-1)}\prod\chi_\perp$: what its weights add."""
    chain: Float[Array, "L N N"]
    r"""The chain-rule factor $\prod_{\ell'=\ell}^{L-1}\chi_\perp^{(\ell')}$, PDLT (9.93), mean of
    $\sum_j\frac{dz^{(L)}_{i;1}}{dz^{(\ell)}_j}\frac{dz^{(L)}_{i;2}}{dz^{(\ell)}_j}$."""
    overlap: Float[Array, "L N N"]
    r"""$g^{(\ell-1)}$, the mean product of the signals that enter layer $\ell$: the trivial factor of its weights, PDLT (9.90)."""
    K: Float[Array, "L N N"]
    """The kernel of every layer."""

    @property
    def total(self) -> Float[Array, "N N"]:
        r"""The frozen tangent kernel $\Theta^{(L)}$ of the output, PDLT (9.28)."""
        return (self.bias + self.weight).sum(axis=0)


@entry(remedy="call `tune`, or use fewer layers")
def tangent_contributions(net: LayeredNetwork, x: Any = None, *, kernel: Any = None) -> TangentContributions:
    r"""The tangent kernel of the output split by layer and by biases and weights, PDLT (9.28)-(9.30).

    **Arguments:**

    - `net`: the network; its rates `lambda_b`, `lambda_W` weigh the contributions.
    - `x` (N, n_0) or `kernel` (N, N): the inputs, or the first layer's kernel.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> parts = fw.expansion.tangent_contributions(net, [[1.0, 0.5], [0.3, -1.0]])
        >>> np.sum(parts.bias + parts.weight, axis=0).round(6).tolist()
        [[4.875, 2.14727], [2.14727, 4.635]]
    """
    K1 = first_kernel(net, x, kernel)
    sigma, largest = net.activation, largest_variance(net, K1)
    check_has_tangent_kernel(sigma)
    rule = gram_rule(sigma, largest, derivatives=1)
    overlap, K, chain = at_hand(_layers(sigma, rule, net.layers[1:], K1, first_overlap(net, x, K1)))
    bias, weight = (rate[:, None, None] * chain for rate in (net.lambda_b, net.lambda_W))
    return TangentContributions(bias, weight * overlap, chain, overlap, K)


@compiled_in_haste(light=5000, static_argnums=0)
def _layers(
    activation: Activation,
    rule: PairRule,
    layers: Layer,
    K1: Float[Array, "N N"],
    overlap1: Float[Array, "N N"],
) -> tuple[Float[Array, "L N N"], Float[Array, "L N N"], Float[Array, "L N N"]]:
    r"""$g^{(\ell-1)}$, $K^{(\ell)}$ and the product of $\chi_\perp$ from layer $\ell$ to the last, for $\ell = 1..L$."""

    def step(K: Array, layer: Layer) -> tuple[Array, tuple[Array, Array, Array]]:
        sizes = diagonal(K)[:, None], diagonal(K)[None, :]
        seen = layer.seen(K, *sizes)
        g, slopes = gram(activation, seen, rule), gram(activation, seen, rule, slopes=True)
        new = layer.kernel(g, K)
        return new, (g, new, layer.perpendicular(layer.seen_slopes(slopes, *sizes)))

    overlap, K, chi = jax.lax.scan(step, K1, layers)[1]
    chain = jnp.concatenate([jnp.cumprod(chi[::-1], axis=0)[::-1], jnp.ones_like(K1)[None]])
    return jnp.concatenate([overlap1[None], overlap]), jnp.concatenate([K1[None], K]), chain
