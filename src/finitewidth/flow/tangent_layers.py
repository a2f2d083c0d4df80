r"""What each layer's biases and weights contribute to the tangent kernel of the output, for many inputs at infinite width.

$$\Theta^{(L)}_{12} = \sum_{\ell=1}^L\big[\lambda_b^{(\ell)} + \lambda_W^{(\ell)}\,g^{(\ell-1)}_{12}\big]
  \prod_{\ell'=\ell}^{L-1}\chi^{(\ell')}_{\perp,12},\qquad
  \chi^{(\ell)}_{\perp,12} = C_W^{(\ell+1)}\langle\sigma'_1\sigma'_2\rangle_{K^{(\ell)}},\quad
  g^{(\ell)}_{12} = \langle\sigma_1\sigma_2\rangle_{K^{(\ell)}},\quad g^{(0)}_{12} = \tfrac1{n_0}x_1\cdot x_2 :$$

PDLT (9.28)-(9.30) for more than one input.
"""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._errors import BlowUpError, DomainError
from .._precision import in_float64, to_numpy
from .._validation import is_concrete
from ..activations import Activation
from ..gaussian.accuracy import gram_rule
from ..gaussian.hermite import HermiteRule
from ..gaussian.pairs import PairRule
from ..gaussian.powers import power
from ..networks import MLP, LayerParameters, layer_parameters
from ..networks.kernel_map import kernel_map, largest_variance
from ..networks.tangent_kernel_map import slope_average
from .flow import first_kernel

_JUMP = 1e-9  # one-sided limits are taken at a small distance: a smaller jump is none


class TangentContributions(eqx.Module):
    r"""Layer $\ell$ at index $\ell-1$, samples along the other two axes."""

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


@in_float64
def tangent_contributions(net: MLP, x: Any = None, *, kernel: Any = None) -> TangentContributions:
    r"""The tangent kernel of the output split by layer and by biases and weights, PDLT (9.28)-(9.30).

    **Arguments:**

    - `net`: the network; its rates `lambda_b`, `lambda_W` weigh the contributions.
    - `x` (N, n_0) or `kernel` (N, N): the inputs, or the first layer's kernel.
    """
    K1 = first_kernel(net, x, kernel)
    sigma, largest = net.activation, largest_variance(net, K1)
    require_continuous(sigma)
    rules = gram_rule(sigma, largest), _slope_rule(sigma, largest)
    overlap, K, chi = _layers(sigma, *rules, layer_parameters(net), K1, _first_overlap(net, K1))
    one = jnp.ones((1, *K1.shape), K1.dtype)
    chain = jnp.concatenate([jnp.cumprod(chi[::-1], axis=0)[::-1], one])
    bias, weight = (rate[:, None, None] * chain for rate in (net.lambda_b, net.lambda_W))
    result = TangentContributions(bias, weight * overlap, chain, overlap, K)
    if is_concrete(chain) and not all(np.isfinite(leaf).all() for leaf in (result.bias, result.weight)):
        raise BlowUpError(f"The tangent kernel of {net!r} leaves the finite numbers: call `tune`, or use fewer layers.")
    return to_numpy(result)


def _first_overlap(net: MLP, K1: Float[Array, "N N"]) -> Float[Array, "N N"]:
    r"""$x_1\cdot x_2/n_0$: the first tangent kernel for rates zero and one."""
    return net.replace(lambda_b=0.0, lambda_W=1.0).first_tangent_kernel(K1)


def require_continuous(activation: Activation) -> None:
    """`DomainError` for an activation that jumps: its slope is a delta function, whose square has no average."""
    if activation.kinks and (np.abs(np.asarray(activation.jumps(0))) > _JUMP).any():
        got = f"{activation.name}, which jumps: its slope is a delta function"
        raise DomainError("activation", got, "a continuous activation")


def _slope_rule(activation: Activation, largest: float) -> PairRule:
    """Modes of the slope, which serve thousands of samples where nothing is known in closed form."""
    if activation.kinks or activation.has_closed_pair:
        return None
    rule = gram_rule(power(activation, 0, 1), largest)
    return rule and HermiteRule(rule.order, rule.nodes, rule.reach)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _layers(
    activation: Activation,
    value_rule: PairRule,
    slope_rule: PairRule,
    parameters: LayerParameters,
    K1: Float[Array, "N N"],
    overlap1: Float[Array, "N N"],
) -> tuple[Float[Array, "L N N"], Float[Array, "L N N"], Float[Array, "L-1 N N"]]:
    r"""$g^{(\ell-1)}$ and $K^{(\ell)}$ for $\ell = 1..L$, and $\chi_\perp^{(\ell)}$ for $\ell < L$."""
    zero, one = jnp.zeros((), K1.dtype), jnp.ones((), K1.dtype)

    def layer(K: Array, of_layer: LayerParameters) -> tuple[Array, tuple[Array, Array, Array]]:
        g = kernel_map(activation, K, zero, one, value_rule)
        new = of_layer.C_b + of_layer.C_W * g
        return new, (g, new, of_layer.C_W * slope_average(activation, K, slope_rule))

    overlap, K, chi = jax.lax.scan(layer, K1, parameters)[1]
    return jnp.concatenate([overlap1[None], overlap]), jnp.concatenate([K1[None], K]), chi
