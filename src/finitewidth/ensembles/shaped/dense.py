"""The network itself, with all its matrices: slow, and the measure of everything that is faster."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.random import fold_in
from jaxtyping import Float, Int, Key

from ..._arrays import Array, diagonal
from ...networks.shaped.sublayers import AttentionBranch, FeedForwardBranch, FullyConnected, Residual, Sublayer
from ...runs.walker import Process
from ..normals import standard_normals

Tokens = Float[Array, "m n"]


class DenseNetwork(Process):
    """A network as it is."""

    layers: tuple[Sublayer, ...]
    root: Float[Array, "m r"]
    width: int = eqx.field(static=True)

    def start(self, key: Key[Array, ""]) -> Tokens:
        r"""$X_0 = \sqrt n\,L_0O$ with $O$ a uniformly random frame of orthonormal rows."""
        root = self.root[:, : self.width]
        frame, triangle = jnp.linalg.qr(standard_normals(fold_in(key, 0), (self.width, root.shape[1]), root.dtype))
        return self.width**0.5 * (root * jnp.sign(diagonal(triangle))) @ frame.T

    def step(self, key: Key[Array, ""], number: Int[Array, ""], state: Tokens) -> Tokens:
        """All layers of the block once, with fresh matrices."""
        for layer, own in zip(self.layers, jax.random.split(fold_in(key, number), len(self.layers)), strict=True):
            full = isinstance(layer, FullyConnected)
            state = _fully_connected(layer, own, state) if full else _residual(layer, own, state)
        return state

    def covariance(self, state: Tokens) -> Float[Array, "m m"]:
        r"""$V = XX^{\mathsf T}/n$."""
        return state @ state.T / self.width

    def numbers(self) -> int:
        """How many numbers one network keeps in memory at a time, roughly."""
        branches = [layer.branch for layer in self.layers if isinstance(layer, Residual)]
        units = [branch.units for branch in branches if isinstance(branch, FeedForwardBranch)]
        return 3 * self.width * max(self.width, *units, 0) + 8 * len(self.root) * self.width


def _fully_connected(layer: FullyConnected, key: Key[Array, ""], X: Tokens) -> Tokens:
    return layer.normalisation**0.5 * layer.activation(_gaussian(key, X, X.shape[1]))


def _residual(layer: Residual, key: Key[Array, ""], X: Tokens) -> Tokens:
    seen = _normalise(X) if layer.normalised == "pre" else X
    branch = layer.branch
    F = _attention(branch, key, seen) if isinstance(branch, AttentionBranch) else _feed_forward(branch, key, seen)
    X = layer.skip * X + layer.weight * F
    return _normalise(X) if layer.normalised == "post" else X


def _attention(branch: AttentionBranch, key: Key[Array, ""], X: Tokens) -> Tokens:
    n = X.shape[1]

    def head(key: Key[Array, ""]) -> Tokens:
        queries, keys = (_gaussian(fold_in(key, i), X, branch.key_width) for i in range(2))
        A = branch.mixing((queries @ keys.T)[None])[0]
        return _gaussian(fold_in(key, 2), A @ X, n // branch.heads)

    heads = jax.vmap(head)(jax.random.split(fold_in(key, 0), branch.heads))
    values = jnp.concatenate(list(heads), axis=1)
    return _gaussian(fold_in(key, 1), values, n) if branch.output_projection else values


def _feed_forward(branch: FeedForwardBranch, key: Key[Array, ""], X: Tokens) -> Tokens:
    hidden = branch.activation(_gaussian(fold_in(key, 0), X, branch.units))
    return branch.normalisation**0.5 * _gaussian(fold_in(key, 1), hidden, X.shape[1])


def _gaussian(key: Key[Array, ""], X: Float[Array, "m a"], columns: int) -> Float[Array, "m b"]:
    r"""$XW/\sqrt a$ with a fresh Gaussian matrix of so many columns."""
    return X @ standard_normals(key, (X.shape[1], columns), X.dtype) / X.shape[1] ** 0.5


def _normalise(X: Tokens) -> Tokens:
    centred = X - jnp.mean(X, axis=1, keepdims=True)
    deviation = jnp.sqrt(jnp.mean(centred**2, axis=1, keepdims=True))
    return jnp.where(deviation > 0, centred / jnp.where(deviation > 0, deviation, 1), 0)
