"""Blocks on top of one another."""

from functools import reduce
from operator import add

import numpy as np
from jaxtyping import Float

from ..._arrays import Array, at_hand
from ..._errors import ArgumentError
from .block import ShapedBlock, Square
from .finite import check_blocks
from .sublayers import Sublayer


class ShapedTransformer(ShapedBlock):
    r"""A stack of blocks, repeated: one unit of depth runs through all of them. Drifts and diffusions add
    (Shaped Transformer Eq. 11, Cor. 4.3).

    `ShapedTransformer(attention, feedforward)` is the usual use; stacks may hold stacks.
    """

    blocks: tuple[ShapedBlock, ...]

    def __init__(self, *blocks: ShapedBlock):
        check_blocks(blocks, ShapedBlock, "one or more shaped blocks")
        exponents = sorted({block.time_exponent for block in blocks})
        if len(exponents) > 1:
            got = f"blocks whose depth times scale as n^{exponents[0]:g} and n^{exponents[-1]:g}"
            raise ArgumentError("blocks", got, "blocks with one depth time: equal exponents below 1/2, or none")
        self.blocks = blocks

    @property
    def parts(self) -> tuple[ShapedBlock, ...]:
        """The blocks that are not stacks themselves, in the order in which a signal meets them."""
        return tuple(part for block in self.blocks for part in block.parts)

    def reshaped(self, gamma: float | None = None, tau0: float | None = None) -> "ShapedTransformer":
        """All blocks reshaped."""
        return ShapedTransformer(*(block.reshaped(gamma, tau0) for block in self.blocks))

    def sublayers(self, width: int, tokens: int) -> tuple[Sublayer, ...]:
        """The sub-layers of all parts, one after another."""
        return tuple(layer for part in self.parts for layer in part.sublayers(width, tokens))

    @property
    def time_exponent(self) -> float:
        """The exponent that all blocks share."""
        return self.blocks[0].time_exponent

    @property
    def value_noise(self) -> Array | float:
        r"""$\kappa$, summed over blocks."""
        return sum(part.value_noise for part in self.parts)

    def drift_inside(self, V: Square) -> Square:
        """Drifts of blocks add up."""
        return reduce(add, [part.drift_inside(V) for part in self.parts])

    @property
    def mixings(self) -> int:
        """All matrices of all blocks."""
        return sum(part.mixings for part in self.parts)

    def mixing(self, Z: Float[Array, "mixings r r"], L: Float[Array, "m r"]) -> Square | None:
        """The sum over blocks, each with matrices of its own."""
        terms, start = [], 0
        for part in self.parts:
            terms.append(part.mixing(Z[start : start + part.mixings], L))
            start += part.mixings
        return _total(terms)

    def mixing_diffusion(self, V: Square) -> Float[Array, "m m m m"]:
        """Blocks mix independently: their covariances add up."""
        return reduce(add, [part.mixing_diffusion(V) for part in self.parts])

    def positive_drift(self, V: Square) -> Square | None:
        """The positive parts of all drifts together."""
        return _total([part.positive_drift(V) for part in self.parts])

    def positive_growth(self, V: Square) -> Float[Array, " m"] | None:
        """The sum over blocks."""
        return _total([part.positive_growth(V) for part in self.parts])

    def mixing_growth(self, V: Square) -> Float[Array, " m"] | None:
        """The sum over blocks: they mix independently."""
        return _total([part.mixing_growth(V) for part in self.parts])

    def generator(self, V: Square) -> Square | None:
        """The sum over blocks: their mixings are independent, so that the Itô corrections add."""
        return _total([part.generator(V) for part in self.parts])

    @property
    def largest_step(self) -> Array | float:
        """The step at which the blocks together take all of $V$ away, at the rates at which each does."""
        with np.errstate(divide="ignore"):
            return 1 / sum(1 / at_hand(part.largest_step) for part in self.parts)


def _total(terms: list[Array | None]) -> Array | None:
    """The sum of what is there."""
    present = [term for term in terms if term is not None]
    return reduce(add, present) if present else None
