"""Attention with parts of its shaping taken away, and stacks that may hold it (Shaped Transformer figure 4)."""

import equinox as eqx

from ..._errors import ArgumentError
from ..._validation import as_flag
from .attention import ShapedAttention
from .finite import Block, check_blocks
from .sublayers import Sublayer


class AblatedAttention(Block):
    r"""`attention` without some of what shapes it: $A = [I] + {\rm softmax}(Y/\tau) - [\tfrac1m\mathbf 1\mathbf 1^{\mathsf T}]$,
    $\tau = \tau_0\sqrt{n_k}\,[n^p]$ (Shaped Transformer figure 4). It has no limit in proportion to depth.

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
        self.identity, self.centred = as_flag(identity, "identity"), as_flag(centred, "centred")
        self.shaped_temperature = as_flag(shaped_temperature, "shaped_temperature")

    def check_width(self, width: int) -> None:
        """Its attention must fit the width."""
        self.attention.check_width(width)

    def sublayers(self, width: int, tokens: int) -> tuple[Sublayer, ...]:
        """Attention, or what is left of it."""
        return (self.attention.sublayer(width, tokens, self.identity, self.centred, self.shaped_temperature),)


class FiniteStack(Block):
    """Blocks on top of one another, with a limit or without: one unit of depth runs through all of them."""

    blocks: tuple[Block, ...]

    def __init__(self, *blocks: Block):
        check_blocks(blocks, Block, "one or more blocks, shaped or ablated")
        self.blocks = blocks

    @property
    def parts(self) -> tuple[Block, ...]:
        """The blocks that are not stacks themselves, in the order in which a signal meets them."""
        return tuple(part for block in self.blocks for part in block.parts)

    def sublayers(self, width: int, tokens: int) -> tuple[Sublayer, ...]:
        """The sub-layers of all parts, one after another."""
        return tuple(layer for part in self.parts for layer in part.sublayers(width, tokens))
