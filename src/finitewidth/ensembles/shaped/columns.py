r"""How the columns of the stream are shared among heads, and how they start.

Concatenated heads write different columns with different mixing matrices, so that the Gram matrix of each group of
columns, $V_g = X_gX_g^{\mathsf T}/n$ with $\sum_gV_g = V$, belongs to the state. Layer normalisation looks at the mean of a
token over its columns, an inner product with the vector of ones, which joins the tokens as one more row.

Networks start from $X_0 = \sqrt n\,L_0O$ with $V_0 = L_0L_0^{\mathsf T}$ and $O$ a uniformly random frame of orthonormal rows:
inputs in general position with respect to the columns. What has one group and no row of ones does not see $O$.
"""

import math

import jax.numpy as jnp
from jax.lax.linalg import triangular_solve
from jaxtyping import Float, Key

from ..._arrays import Array
from ...networks.shaped.sublayers import AttentionBranch, Residual, Sublayer
from .draws import Wisharts, draw
from .residual_mix import gram


def column_groups(layers: tuple[Sublayer, ...]) -> int:
    """Into how many groups heads divide the columns: the least number of which each head takes some."""
    branches = [layer.branch for layer in layers if isinstance(layer, Residual)]
    heads = [b.heads for b in branches if isinstance(b, AttentionBranch) and not b.output_projection]
    return math.lcm(*heads)


def has_ones(layers: tuple[Sublayer, ...]) -> bool:
    """Whether the mean of a token over its columns matters."""
    return any(isinstance(layer, Residual) and layer.normalised for layer in layers)


def split_columns(
    key: Key[Array, ""], root: Float[Array, "m r"], width: int, groups: int, ones: bool
) -> Float[Array, "groups M M"]:
    r"""$V_g$ of $X_0$, with a row for the vector of ones if `ones`; `root` is $L_0$, with at most `width` columns.

    $O = C^{-1}G$ for a Gaussian matrix $G$ with $GG^{\mathsf T} = CC^{\mathsf T}$. In a group of $w$ columns, $G_g$ shows itself through
    its product with the vector of ones, $\sqrt w\,z_g$, and a Wishart matrix of $w - 1$ degrees of freedom for the rest.
    """
    if groups == 1 and not ones:
        return gram(root)[None]
    columns, rank = width // groups, root.shape[1]
    (along,), (rest,) = draw(key, [(groups, rank, 1)], [Wisharts(groups, rank, columns - 1)], root.dtype)
    G = jnp.concatenate([along, rest], axis=-1)
    C = jnp.linalg.cholesky(jnp.sum(gram(G), axis=0))
    X = root @ triangular_solve(jnp.broadcast_to(C, (groups, *C.shape)), G, left_side=True, lower=True)
    if ones:
        row = jnp.zeros((groups, 1, X.shape[-1]), X.dtype).at[:, 0, 0].set(jnp.sqrt(columns / width))
        X = jnp.concatenate([X, row], axis=1)
    return gram(X)
