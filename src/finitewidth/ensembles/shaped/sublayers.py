r"""What a block is made of at a given width: the operations that both samplers, reduced and dense, know how to do.

Tokens are the rows of $X$, shape (m, n), and their covariance is $V = XX^{\mathsf T}/n$.
"""

from functools import singledispatch
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..._errors import ArgumentError, DomainError
from ...activations import Activation
from ...activations.families import ScaleInvariant
from ...networks.shaped import ShapedAttention, ShapedMLP, ShapedResNet
from ...networks.shaped.activation import ShapedActivation, ShapedReLU


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
        visible = jnp.where(self.sees, logits / self.temperature, -jnp.inf)
        weights = jnp.exp(visible - jnp.max(visible, axis=-1, keepdims=True))
        weights = weights / jnp.sum(weights, axis=-1, keepdims=True)
        uniform = self.sees / jnp.sum(self.sees, axis=-1, keepdims=True)
        return self.identity * jnp.eye(len(self.sees), dtype=logits.dtype) + (weights - self.centring * uniform)


class FeedForwardBranch(eqx.Module):
    r"""$\varphi(XW^{\rm pre}/\sqrt n)\sqrt{c/n_h}\,W^{\rm post}$."""

    activation: Activation = eqx.field(static=True)
    normalisation: float = eqx.field(static=True)
    units: int = eqx.field(static=True)


class Residual(eqx.Module):
    r"""$X' = \lambda X + \gamma F(X)$; layer normalisation may act on what the branch sees or on the sum."""

    branch: AttentionBranch | FeedForwardBranch
    skip: Float[Array, ""]
    weight: Float[Array, ""]
    normalised: str | None = eqx.field(static=True, default=None)
    """`None`, `"pre"` or `"post"`."""


class FullyConnected(eqx.Module):
    r"""$X' = \sqrt c\,\varphi(XW/\sqrt n)$."""

    activation: Activation = eqx.field(static=True)
    normalisation: float = eqx.field(static=True)


Sublayer = Residual | FullyConnected


@singledispatch
def sublayers(part: Any, width: int, tokens: int) -> tuple[Sublayer, ...]:
    """The operations of one part of a stack, for networks of this width and inputs of so many tokens."""
    raise ArgumentError("block", type(part).__name__, "a shaped block, an ablated one or a Transformer with layer norm")


@sublayers.register
def _(part: ShapedMLP, width: int, tokens: int) -> tuple[Sublayer, ...]:
    return (FullyConnected(*normalised_activation(part.activation, width)),)


@sublayers.register
def _(part: ShapedResNet, width: int, tokens: int) -> tuple[Sublayer, ...]:
    units = hidden_units(part.hidden_ratio, width)
    branch = FeedForwardBranch(*normalised_activation(part.activation, width), units)
    return (Residual(branch, part.skip, jnp.asarray(part.gamma)),)


def normalised_activation(activation: ShapedActivation, width: int) -> tuple[Activation, float]:
    """The activation at a width and what normalises it; some shaped ReLUs are flat at one width."""
    if isinstance(activation, ShapedReLU) and not any(activation.slopes(width)):
        got = f"{activation.c_plus:g}, {activation.c_minus:g}: both slopes 1 + c n^(-{activation.exponent:g}) are zero"
        raise DomainError("c_plus, c_minus", f"{got} at width {width}", "one that is not, or another width")
    return activation.at_width(width), activation.normalisation(width)


@sublayers.register
def _(part: ShapedAttention, width: int, tokens: int) -> tuple[Sublayer, ...]:
    return (shaped_attention(part, width, tokens),)


def shaped_attention(
    part: ShapedAttention,
    width: int,
    tokens: int,
    identity: bool = True,
    centred: bool = True,
    shaped_temperature: bool = True,
) -> Residual:
    r"""Shaped attention (Shaped Transformer Eq. 9), or what is left of it; its temperature is $\tau_0n^p\sqrt{n_k}$, or
    $\tau_0\sqrt{n_k}$ if it is not shaped."""
    columns = columns_per_head(part.heads, width)
    key_width = columns if part.key_width is None else part.key_width
    shaping = width**part.exponent if shaped_temperature else 1.0
    branch = AttentionBranch(
        temperature=jnp.asarray(part.tau0) * shaping * key_width**0.5,
        sees=jnp.asarray(part.sees(tokens)),
        identity=jnp.asarray(float(identity)),
        centring=jnp.asarray(float(centred)),
        heads=part.heads,
        key_width=key_width,
        output_projection=part.output_projection,
    )
    return Residual(branch, part.skip, jnp.asarray(part.gamma))


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
