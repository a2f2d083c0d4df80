r"""Networks without matrices: each layer drawn through the covariance of its tokens alone, with the law of the real thing.

A Gaussian matrix $W$ acts on tokens $X = \sqrt n\,RO$, $O$ with orthonormal rows, through $OW$, which is Gaussian whatever $O$.
The covariance of the next layer is then a function of few Gaussian and chi-squared numbers: $O(m^3)$ a layer, but for
$O(n_hm^2)$ where a nonlinearity must see its units one by one.
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.random import fold_in
from jaxtyping import Float, Int, Key

from ..._arrays import Array, diagonal
from ...gaussian.root import covariance_root
from ...networks.shaped.sublayers import (
    AttentionBranch,
    FeedForwardBranch,
    FullyConnected,
    Residual,
    Sublayer,
    is_linear,
)
from ...runs.walker import Process
from ..neurons import gram_of_neurons, rows_per_block
from .columns import column_groups, has_ones, split_columns
from .draws import Wisharts, draw
from .residual_mix import gram, residual_mix

Grams = Float[Array, "groups M M"]


class ChainNetwork(Process):
    """A network as a Markov chain of the Gram matrices of its groups of columns."""

    layers: tuple[Sublayer, ...]
    root: Float[Array, "m r"]
    width: int = eqx.field(static=True)

    def start(self, key: Key[Array, ""]) -> Grams:
        """The inputs. Whatever a fully connected layer reads, only the sum over groups matters to it."""
        groups = column_groups(self.layers)
        if isinstance(self.layers[0], FullyConnected):
            return jnp.broadcast_to(gram(self.root) / groups, (groups, len(self.root), len(self.root)))
        return split_columns(fold_in(key, 0), self.root[:, : self.width], self.width, groups, has_ones(self.layers))

    def step(self, key: Key[Array, ""], number: Int[Array, ""], state: Grams) -> Grams:
        """All layers of the block once."""
        for layer, own in zip(self.layers, jax.random.split(fold_in(key, number), len(self.layers)), strict=True):
            if isinstance(layer, FullyConnected):
                state = _fully_connected(layer, own, state, self.width)
            else:
                state = _residual(layer, own, state, self.width)
        return state

    def covariance(self, state: Grams) -> Float[Array, "m m"]:
        """$V$, the sum over groups without the row of ones."""
        m = len(self.root)
        return jnp.sum(state, axis=0)[:m, :m]

    def numbers(self) -> int:
        """How many numbers one network keeps in memory at a time, roughly."""
        return 16 * column_groups(self.layers) * (len(self.root) + 1) ** 2 + 128 * len(self.root)


def _fully_connected(layer: FullyConnected, key: Key[Array, ""], grams: Grams, width: int) -> Grams:
    r"""$V_g' = \tfrac cn\varphi_g\varphi_g^{\mathsf T}$ over the units of each group, columns of $N(0, V)$ through $\varphi$."""
    root = covariance_root(jnp.sum(grams, axis=0))
    groups = len(grams)
    columns = width // groups
    if is_linear(layer.activation):
        _, (factors,) = draw(key, [], [Wisharts(groups, root.shape[1], columns)], root.dtype)
        return gram(root @ factors) / width
    block = rows_per_block((columns,))
    units = partial(gram_of_neurons, root=root, activation=layer.activation, neurons=columns, block=block)
    return layer.normalisation / width * jax.vmap(units)(jax.random.split(key, groups))


def _residual(layer: Residual, key: Key[Array, ""], grams: Grams, width: int) -> Grams:
    """One residual sub-layer."""
    groups, m = len(grams), grams.shape[1] - (layer.normalised is not None)
    of_branch, of_sum = jax.random.split(key)
    roots = jax.vmap(covariance_root)(grams)
    total = roots[0] if groups == 1 else covariance_root(jnp.sum(grams, axis=0))
    seen = _normalised(total, m) if layer.normalised == "pre" else total[:m]
    if isinstance(layer.branch, AttentionBranch):
        branch = _attention(layer.branch, of_branch, seen, width)
    else:
        branch = _feed_forward(layer.branch, of_branch, seen)
    branch = jnp.repeat(branch, groups // len(branch), axis=0)
    # The vector of ones, where it is a row, is not a token and receives nothing.
    branch = jnp.pad(branch, ((0, 0), (0, roots.shape[1] - m), (0, 0)))
    grams = residual_mix(of_sum, roots, branch, layer.skip, layer.weight, width)
    return _normalise(grams) if layer.normalised == "post" else grams


def _attention(
    branch: AttentionBranch, key: Key[Array, ""], seen: Float[Array, "m r"], width: int
) -> Float[Array, "heads m k"]:
    r"""Roots of the covariance of a column that each head writes: $A_hR$, as the values $OW^V$ are Gaussian.

    The logits are $Y = R\,(OW^Q)(OW^K)^{\mathsf T}R^{\mathsf T}$, where $(OW^Q)(OW^K)^{\mathsf T} = BZ$ with $B$ the Bartlett factor of
    the queries and $Z$ Gaussian: no dimension $n_k$ is left.
    """
    heads, r = branch.heads, seen.shape[1]
    wisharts = [Wisharts(heads, r, branch.key_width)]
    if branch.output_projection:
        wisharts.append(Wisharts(heads, r, width // heads))
    (keys,), (queries, *projected) = draw(key, [(heads, wisharts[0].rank, r)], wisharts, seen.dtype)
    roots = branch.mixing(seen @ queries @ (keys @ seen.T)) @ seen
    if not branch.output_projection:
        return roots
    values = gram(roots @ projected[0])
    return covariance_root(jnp.sum(values, axis=0) / width)[None]


def _feed_forward(branch: FeedForwardBranch, key: Key[Array, ""], seen: Float[Array, "m r"]) -> Float[Array, "1 m k"]:
    r"""A root of $\tfrac c{n_h}\varphi\varphi^{\mathsf T}$ over the hidden units."""
    if is_linear(branch.activation):
        _, (factor,) = draw(key, [], [Wisharts(1, seen.shape[1], branch.units)], seen.dtype)
        return seen @ factor / branch.units**0.5
    units = gram_of_neurons(key, seen, branch.activation, branch.units, rows_per_block((branch.units,)))
    return covariance_root(branch.normalisation / branch.units * units)[None]


def _normalised(root: Float[Array, "M r"], m: int) -> Float[Array, "m r"]:
    r"""A root of the Gram matrix of ${\rm LN}(X)$, the correlation matrix of $V - \mu\mu^{\mathsf T}$, from one of $(X, \mathbf 1)$."""
    mean = root[:m] @ root[m]
    centred = root[:m] - mean[:, None] * root[m]
    deviation = jnp.linalg.norm(centred, axis=1, keepdims=True)
    return jnp.where(deviation > 0, centred / jnp.where(deviation > 0, deviation, 1), 0)


def _normalise(grams: Grams) -> Grams:
    r"""Gram matrices of ${\rm LN}(X)$ and the vector of ones: each token minus its mean, over its deviation."""
    total = jnp.sum(grams, axis=0)
    mean = total[:-1, -1]
    variance = jnp.maximum(diagonal(total)[:-1] - mean**2, 0)
    scale = jnp.where(variance > 0, 1 / jnp.sqrt(jnp.where(variance > 0, variance, 1)), 0)
    T = jnp.diag(jnp.append(scale, 1.0)).at[:-1, -1].set(-mean * scale)
    return T @ grams @ T.T
