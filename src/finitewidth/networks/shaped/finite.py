"""A block at a width and a depth: what every kind of block has, whether or not it has a limit in proportion to depth."""

from abc import abstractmethod
from typing import Any

import equinox as eqx

from ..._errors import ArgumentError
from ..._validation import as_count
from ..network import Network
from .sublayers import Sublayer


class Block(eqx.Module):
    """A piece of network that is put on top of itself again and again."""

    @abstractmethod
    def sublayers(self, width: int, tokens: int) -> tuple[Sublayer, ...]:
        """The operations of this block, for networks of this width and inputs of so many tokens."""

    @property
    def parts(self) -> "tuple[Block, ...]":
        """The blocks of which this one is a stack."""
        return (self,)

    def check_width(self, width: int) -> None:
        """Refuse a width at which no network of this block exists."""

    @property
    def time_exponent(self) -> float:
        r"""Depth time is $t = \ell\,n^{-q}$ with this $q$: one, unless shaping is so weak ($p < 1/2$) that $q = 2p$."""
        return 1.0

    def at(self, width: int, depth: int) -> "BlockNetwork":
        """The network of this block `depth` times on top of itself, its stream of tokens `width` columns wide."""
        return BlockNetwork(self, width, depth)


class BlockNetwork(Network):
    """A block at a width and a depth; one unit of depth is one passage through all parts of a stack."""

    block: Block
    width: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)

    def __init__(self, block: Block, width: int, depth: int):
        if not isinstance(block, Block):
            raise ArgumentError("block", type(block).__name__, "a block such as ShapedMLP or ShapedAttention")
        self.block = block
        self.width, self.depth = as_count(width, "width"), as_count(depth, "depth")
        for part in block.parts:
            part.check_width(self.width)

    @property
    def depth_over_width(self) -> float:
        """Blocks over width."""
        return self.depth / self.width

    @property
    def depth_time(self) -> float:
        r"""$T = d\,n^{-q}$, the depth in the time of the limit; $d/n$ unless shaping is weak."""
        return self.depth * self.time_of_a_layer

    @property
    def time_of_a_layer(self) -> float:
        r"""$n^{-q}$."""
        return float(self.width) ** -self.block.time_exponent


def check_blocks(blocks: tuple[Any, ...], kind: type[Block], want: str) -> None:
    """Refuse stacks of nothing, or of anything but blocks of this kind."""
    if not blocks or not all(isinstance(block, kind) for block in blocks):
        got = ", ".join(type(block).__name__ for block in blocks) or "nothing"
        raise ArgumentError("blocks", got, want)
