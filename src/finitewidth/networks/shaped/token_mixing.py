r"""How shaped attention mixes tokens: averages over the Gaussian logits, for any mask, in $O(m^3)$.

Token $\alpha$ sees the set $\mathcal K_\alpha$ of $m_\alpha$ tokens, row $\alpha$ of the mask $S$. To first order the softmax
minus its mean is $A_{\alpha\cdot} = Y_{\alpha\cdot}P_\alpha/m_\alpha$ with $P_\alpha = {\rm diag}(\mathbf 1_\alpha) -
\mathbf 1_\alpha\mathbf 1_\alpha^{\mathsf T}/m_\alpha$, where the logits have $E[Y_{\alpha\kappa}Y_{\beta\nu}] =
V_{\alpha\beta}V_{\kappa\nu}$ (Shaped Transformer Eq. 8-10, extended to masks).
Writing out $P_\alpha$ turns every average into products of $m \times m$ matrices. Where every token sees all there is one $P$, which
acts on $V$ once, $W = PVP$.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Bool, Float

from ..._arrays import Array, diagonal
from .block import Square


class Visible(NamedTuple):
    """A mask and the number of tokens that each token sees. In its place `None` says that every token sees all."""

    mask: Float[Array, "m m"]
    seen: Float[Array, "m 1"]


def visible(mask: Bool[np.ndarray, "m m"], dtype: DTypeLike) -> Visible:
    """The mask as numbers, with its row sums."""
    return Visible(jnp.asarray(mask, dtype), jnp.asarray(mask.sum(axis=1, keepdims=True), dtype))


def centred(logits: Square, sees: Visible | None) -> Square:
    r"""$A$: each row of logits minus its mean over the visible tokens, over their number; zero elsewhere."""
    if sees is None:
        return (logits - jnp.mean(logits, axis=1, keepdims=True)) / len(logits)
    S, seen = sees
    return S * (logits - jnp.sum(S * logits, axis=1, keepdims=True) / seen) / seen


def mean_mixing(V: Square, sees: Visible | None) -> Square:
    r"""The mean of the softmax at second order, row $\alpha$: $\tfrac{V^{\alpha\alpha}}{2m_\alpha}s_\alpha$ with
    $s_\alpha = P_\alpha\,{\rm diag}(P_\alpha VP_\alpha)$."""
    if sees is None:
        spread = jnp.broadcast_to(diagonal(_centred_twice(V)), V.shape)
    else:
        S, seen = sees
        column_means = S @ V / seen
        spread = diagonal(V) - 2 * column_means + jnp.sum(S * column_means, axis=1, keepdims=True) / seen
    return diagonal(V)[:, None] / 2 * centred(spread, sees)


def mixing_gram(V: Square, sees: Visible | None) -> Square:
    r"""$E[AVA^{\mathsf T}]$, entries $V^{\alpha\beta}\,{\rm tr}(VP_\alpha VP_\beta)/(m_\alpha m_\beta)$; without a mask
    $\|W\|_F^2V/m^2$."""
    if sees is None:
        return centred_norm(V) / len(V) ** 2 * V
    S, seen = sees
    column_means = S @ V / seen
    one_sided = seen * column_means**2 @ S.T
    traces = S @ V**2 @ S.T - one_sided - one_sided.T + (column_means @ S.T) ** 2 * (seen / seen.T)
    return V * traces / (seen * seen.T)


def mixing_square(V: Square, sees: Visible | None) -> Square:
    r"""$E[A^2]$, entries $\sum_\kappa V^{\alpha\kappa}(P_\alpha VP_\kappa)_{\kappa\beta}/(m_\alpha m_\kappa)$; without a mask $VW/m^2$."""
    if sees is None:
        return V @ _centred_twice(V) / len(V) ** 2
    S, seen = sees
    column_means = S @ V / seen
    weight = S * V / (seen * seen.T)
    own_mean = jnp.sum(S * V, axis=1, keepdims=True) / seen
    of_means = column_means @ S.T / seen.T
    return weight @ (S * (V - own_mean)) - (weight @ S) * column_means + (weight * of_means) @ S


def mixing_diffusion(V: Square, sees: Visible) -> Float[Array, "m m m m"]:
    r"""$\mathcal A$, the covariance of $AV + VA^{\mathsf T}$: with $B_{\alpha\delta} = VP_\alpha VP_\delta V/(m_\alpha m_\delta)$,
    $\mathcal A^{\alpha\beta,\delta\omega} = V^{\alpha\delta}B_{\alpha\delta}^{\beta\omega} + V^{\alpha\omega}B_{\alpha\omega}^{\beta\delta}
    + V^{\beta\delta}B_{\beta\delta}^{\alpha\omega} + V^{\beta\omega}B_{\beta\omega}^{\alpha\delta}$."""
    S, seen = sees
    P = S[:, :, None] * jnp.eye(len(S), dtype=S.dtype) - S[:, :, None] * S[:, None, :] / seen[:, :, None]
    VP = V @ P / seen[:, :, None]
    one_way = jnp.einsum("ad,abi,dwi->abdw", V, VP, VP @ V)
    both = one_way + one_way.transpose(1, 0, 2, 3)
    return both + both.transpose(0, 1, 3, 2)


def centred_norm(V: Square) -> Array:
    r"""$\|W\|_F^2$."""
    return jnp.sum(_centred_twice(V) ** 2)


def _centred_twice(V: Square) -> Square:
    r"""$W = PVP$."""
    centred_rows = V - jnp.mean(V, axis=1, keepdims=True)
    return centred_rows - jnp.mean(centred_rows, axis=0)
