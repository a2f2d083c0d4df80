r"""What a block is made of at a given width: the operations that every sampler of networks knows how to do.

Tokens are the rows of $X$, shape (m, n), and their covariance is $V = XX^{\mathsf T}/n$.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from ..._arrays import Array
from ..._errors import DomainError
from ...activations import Activation
from ...activations.families import ScaleInvariant


class AttentionBranch(eqx.Module):
    r"""$AXW^V/\sqrt n$, head by head, with $A = \iota I + {\rm softmax}(Y/\tau) - \varsigma\,{\rm uniform}$ and
    $Y = \tfrac1nXW^QW^{K\mathsf T}X^{\mathsf T}$; then, if asked for, $W^O/\sqrt n$."""

    temperature: Float[Array, ""]
    sees: Bool[Array, "m m"]
    identity: Float[Array, ""]
    r"""$\iota$: one, or zero without the identity."""
    centring: Float[Array, ""]
    r"""$\varsigma$: one, or zero if the uniform weights stay."""
    heads: int = eqx.field(static=True)
    key_width: int = eqx.field(static=True)
    output_projection: bool = eqx.field(static=True)

    def mixing(self, logits: Float[Array, "heads m m"]) -> Float[Array, "heads m m"]:
        r"""$A$, its softmax and uniform weights over the visible tokens."""
        weights = visible_softmax(logits / self.temperature, self.sees)
        return mixing_matrix(weights, self.sees, self.identity, self.centring)


def visible_softmax(logits: Float[Array, "heads m m"], sees: Bool[Array, "m m"]) -> Float[Array, "heads m m"]:
    """Each row's weights over the tokens that it sees; zero for the others."""
    visible = jnp.where(sees, logits, -jnp.inf)
    weights = jnp.exp(visible - jnp.max(visible, axis=-1, keepdims=True))
    return weights / jnp.sum(weights, axis=-1, keepdims=True)


def mixing_matrix(
    weights: Float[Array, "heads m m"],
    sees: Bool[Array, "m m"],
    identity: Float[Array, ""] | float,
    centring: Float[Array, ""] | float,
) -> Float[Array, "heads m m"]:
    r"""$\iota I + {\rm softmax} - \varsigma\,{\rm uniform}$, uniform over the tokens that each token sees."""
    uniform = sees / jnp.sum(sees, axis=-1, keepdims=True)
    return identity * jnp.eye(len(sees), dtype=weights.dtype) + (weights - centring * uniform)


class FeedForwardBranch(eqx.Module):
    r"""$\varphi(XW^{\rm pre}/\sqrt n)\sqrt{c/n_h}\,W^{\rm post}$."""

    activation: Activation = eqx.field(static=True)
    normalisation: float = eqx.field(static=True)
    units: int = eqx.field(static=True)


class Residual(eqx.Module):
    r"""$X' = \lambda X + \gamma F(X)$; layer normalisation may act on what the branch sees or on the sum."""

    branch: AttentionBranch | FeedForwardBranch
    skip: Float[Array, ""]
    weight: Float[Array, ""] | float
    normalised: str | None = eqx.field(static=True, default=None)
    """`None`, `"pre"` or `"post"`."""


class FullyConnected(eqx.Module):
    r"""$X' = \sqrt c\,\varphi(XW/\sqrt n)$."""

    activation: Activation = eqx.field(static=True)
    normalisation: float = eqx.field(static=True)


Sublayer = Residual | FullyConnected


def attention_branch(
    sees: Bool[np.ndarray, "m m"],
    temperature: Float[Array, ""],
    heads: int,
    key_width: int,
    output_projection: bool,
    identity: bool = True,
    centred: bool = True,
) -> AttentionBranch:
    """Attention with or without the identity and the centring that shape it."""
    switches = np.asarray(float(identity)), np.asarray(float(centred))
    return AttentionBranch(temperature, sees, *switches, heads, key_width, output_projection)


def columns_per_head(heads: int, width: int) -> int:
    """The columns that each head writes."""
    if width % heads:
        raise DomainError("width", width, f"a multiple of the {heads} heads")
    return width // heads


def hidden_units(ratio: float, width: int) -> int:
    """The width of a hidden layer that has `ratio` units for each column of the stream."""
    return max(1, round(ratio * width))


def is_linear(activation: Activation) -> bool:
    """Whether the activation is a multiple of the identity."""
    return isinstance(activation, ScaleInvariant) and activation.a_plus == activation.a_minus
