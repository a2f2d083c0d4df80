r"""What two neurons of a residual network have in common at order $1/n$, one input.

With orthonormal Hermite polynomials $h_p$ of $z/\sqrt K$, the law of two neurons is Gaussian times $1 + \sum c_{pq}h_p(z_i)h_q(z_j)$ beyond
what each has alone. A neuron learns of others by the variance that layers before gave it, which moves $h_2$ and nothing else; and a
neuron makes part of that variance itself, by all of $f = \sigma^2$ along its own path. So at order $1/n$

$$c_{22} = \frac V{2nK^2},\qquad c_{p2} = c_{2p} = \frac{S_p}{\sqrt2\,nK},\qquad
  S_p^{(\ell)} = \sum_{s<\ell}A_s\,\mathrm{Cov}[h_p(z^{(\ell)}), f(z^{(s)})]$$

with $V$ and $A_s$ of `persistent.py`, and all others vanish. At infinite width $z^{(\ell)}$ and $z^{(s)}$ have the correlation
$\gamma^{\ell-s}\sqrt{K^{(s)}/K^{(\ell)}}$, whose power $p$ multiplies $f_p = \langle f\,h_p\rangle_{K^{(s)}}$; hence

$$S_p^{(\ell+1)} = \big(\gamma\sqrt{K^{(\ell)}/K^{(\ell+1)}}\big)^p\,\big[TS_p^{(\ell)} + C_Wf_p^{(\ell)}\big],\qquad
  T = \gamma^2 + C_Wg' = \gamma^2 + C_W\frac{f_2}{\sqrt2K}.$$

PDLT (B.24) and (A.67) know of $c_{22}$ alone, and of part of it.
"""

import math
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float

from .._arrays import Array
from .._compile import compiled_in_haste
from ..activations import Activation
from ..gaussian.line import line_rule
from ..kernels.every_layer import every_layer
from ..networks import ResidualLayer

_POWERS = 64  # of the correlation between neighbouring layers, that are summed


class _State(NamedTuple):
    K: Float[Array, "*L"]
    S: Float[Array, "*L p"]
    r"""Of $p = 1, 2, \dots$"""


def _normalised_hermite(x: Float[Array, " q"]) -> Float[Array, "p q"]:
    r"""$h_1, h_2, \dots$ at the nodes, by $\sqrt{p+1}\,h_{p+1} = xh_p - \sqrt p\,h_{p-1}$."""

    def following(two: tuple[Array, Array], p: Array) -> tuple[tuple[Array, Array], Array]:
        before, last = two
        new = (x * last - jnp.sqrt(p) * before) / jnp.sqrt(p + 1)
        return (last, new), new

    return lax.scan(following, (jnp.zeros_like(x), jnp.ones_like(x)), jnp.arange(_POWERS, dtype=x.dtype))[1]


def _step(activation: Activation, state: _State, layer: ResidualLayer) -> _State:
    z, weights = line_rule(state.K, activation.kinks)
    values = weights * activation(z) ** 2
    f = _normalised_hermite(z / jnp.sqrt(state.K)) @ values
    K = layer.kernel(jnp.sum(values), state.K)
    T = layer.skip**2 + layer.C_W * f[1] / (math.sqrt(2) * state.K)
    correlation = layer.skip * jnp.sqrt(state.K / K)
    return _State(K, correlation ** np.arange(1, _POWERS + 1) * (T * state.S + layer.C_W * f))


@compiled_in_haste(static_argnums=0)
def own_paths(activation: Activation, K1: Float[Array, ""], layers: ResidualLayer) -> Float[Array, " L"]:
    r"""$\sum_{p\ne2}S_p^2/2K^2$ of every layer, $n^2\sum_{p\ne2}c_{p2}^2$; `layers` are all but the first."""
    start = _State(K1, jnp.zeros(_POWERS, K1.dtype))
    found = every_layer(partial(_step, activation), start, layers)
    others = np.arange(1, _POWERS + 1) != 2
    return jnp.sum(others * found.S**2, axis=1) / (2 * found.K**2)
