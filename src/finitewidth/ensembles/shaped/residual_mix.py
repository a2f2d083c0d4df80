r"""The residual connection, on covariances alone.

Tokens $X$ with $n_g$ columns and $XX^{\mathsf T}/n = RR^{\mathsf T}$ are $X = \sqrt n\,RO$ with orthonormal rows $O$. A branch
whose columns are independent $N(0, LL^{\mathsf T})$ is $F = LG$, $G$ a Gaussian matrix, which shows itself only through
its part along $O$, $Z = GO^{\mathsf T}$, and the Gram matrix of the rest, a Wishart matrix $BB^{\mathsf T}$ of
$n_g - {\rm rank}\,R$ degrees of freedom. So

$$\tfrac1n(\lambda X + \gamma F)(\lambda X + \gamma F)^{\mathsf T}
  = \tfrac1n\bigl[KK^{\mathsf T} + \gamma^2LBB^{\mathsf T}L^{\mathsf T}\bigr],\qquad K = \lambda\sqrt n\,R + \gamma LZ,$$

exactly and at any width, in $O(m^3)$. Rows of $O$ that meet a zero column of $R$ may be any others: where there are fewer columns
than tokens the root has as many columns as $X$, otherwise as many as tokens.
"""

import jax.numpy as jnp
from jaxtyping import Float, Key

from ..._arrays import Array
from .draws import Wisharts, draw


def residual_mix(
    key: Key[Array, ""],
    roots: Float[Array, "groups M M"],
    branch: Float[Array, "groups M k"],
    skip: Float[Array, ""],
    weight: Float[Array, ""] | float,
    width: int,
) -> Float[Array, "groups M M"]:
    r"""$\tfrac1nX'_gX_g'^{\mathsf T}$ with $X' = \lambda X + \gamma F$, for each group of $n$/groups columns.

    `roots` are $R_g$, their zero columns last; `branch` are $L_g$; `skip`, `weight` are $\lambda$, $\gamma$.
    """
    groups, size, k = branch.shape
    columns = width // groups
    known = min(size, columns)
    (along,), (rest,) = draw(key, [(groups, k, known)], [Wisharts(groups, k, columns - known)], roots.dtype)
    kept = skip * jnp.sqrt(float(width)) * roots[:, :, :known] + weight * (branch @ along)
    total = gram(kept)
    if rest.shape[-1]:
        total = total + gram(weight * (branch @ rest))
    return total / width


def gram(a: Float[Array, "*s i j"]) -> Float[Array, "*s i i"]:
    r"""$aa^{\mathsf T}$."""
    return a @ jnp.swapaxes(a, -1, -2)
