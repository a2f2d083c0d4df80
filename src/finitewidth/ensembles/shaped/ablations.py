"""Attention with parts of its shaping taken away, and stacks that may hold it (Shaped Transformer figure 4)."""

from typing import Any

import equinox as eqx

from ..._errors import ArgumentError
from ...networks.shaped import ShapedAttention, ShapedBlock
from .sublayers import Sublayer, shaped_attention, sublayers


class FiniteBlock(eqx.Module):
    """A block of real networks that has no limit in proportion to depth: covariances explode, vanish or collapse."""

    @property
    def parts(self) -> tuple[Any, ...]:
        """The blocks of which this one is a stack."""
        return (self,)

    @property
    def time_exponent(self) -> float:
        r"""Depth time is counted as $t = \ell/n$."""
        return 1.0


class AblatedAttention(FiniteBlock):
    r"""`attention` without some of what shapes it: $A = [I] + {\rm softmax}(Y/\tau) - [\tfrac1m\mathbf 1\mathbf 1^{\mathsf T}]$,
    $\tau = \tau_0\sqrt{n_k}\,[n^p]$ (Shaped Transformer figure 4).

    **Arguments:**

    - `identity`: whether $I$ is added. Without it and with centering covariances shrink by $\lambda^2$ a layer.
    - `centred`: whether the uniform weights are subtracted. Without it all tokens become one.
    - `shaped_temperature`: whether the temperature grows with the width. Without it covariances explode.
    """

    attention: ShapedAttention
    identity: bool = eqx.field(static=True)
    centred: bool = eqx.field(static=True)
    shaped_temperature: bool = eqx.field(static=True)

    def __init__(
        self,
        attention: ShapedAttention,
        identity: bool = True,
        centred: bool = True,
        shaped_temperature: bool = True,
    ):
        if not isinstance(attention, ShapedAttention):
            raise ArgumentError("attention", type(attention).__name__, "a ShapedAttention")
        self.attention = attention
        self.identity, self.centred = bool(identity), bool(centred)
        self.shaped_temperature = bool(shaped_temperature)


class FiniteStack(FiniteBlock):
    """Blocks on top of one another, ablated or not: one unit of depth runs through all of them."""

    blocks: "tuple[ShapedBlock | AblatedAttention | FiniteStack, ...]"

    def __init__(self, *blocks: "ShapedBlock | AblatedAttention | FiniteStack"):
        if not blocks or not all(isinstance(block, ShapedBlock | AblatedAttention | FiniteStack) for block in blocks):
            got = ", ".join(type(block).__name__ for block in blocks) or "nothing"
            raise ArgumentError("blocks", got, "one or more blocks, shaped or ablated")
        self.blocks = blocks

    @property
    def parts(self) -> tuple[Any, ...]:
        """The blocks that are no stacks, in the order in which a signal meets them."""
        return tuple(part for block in self.blocks for part in block.parts)


@sublayers.register
def _(part: AblatedAttention, width: int, tokens: int) -> tuple[Sublayer, ...]:
    switches = part.identity, part.centred, part.shaped_temperature
    return (shaped_attention(part.attention, width, tokens, *switches),)
