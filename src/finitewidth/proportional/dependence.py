"""Which tokens move by themselves: after one has left, those that do not depend on it go on."""

import numpy as np
from jaxtyping import Bool

from ..networks.shaped import ShapedAttention, ShapedBlock, ShapedMLP, ShapedResNet


def dependence(block: ShapedBlock, tokens: int) -> Bool[np.ndarray, "m m"]:
    r"""Entry $(\alpha, \beta)$: whether the motion of token $\alpha$ depends on token $\beta$, itself included, directly or
    through others.

    A token depends on those it attends to. The drift that an activation causes in $V^{\alpha\beta}$ depends on the
    tokens $\alpha$ and $\beta$ alone, and so does the noise of the values: sets of tokens that attend to none outside are
    systems of their own."""
    reaches = np.eye(tokens, dtype=bool)
    for part in block.parts:
        reaches |= _sees(part, tokens)
    for _ in range(tokens.bit_length()):  # paths of one step, of two, of four, ...
        reaches = reaches @ reaches
    return reaches


def _sees(part: ShapedBlock, tokens: int) -> Bool[np.ndarray, "m m"]:
    if isinstance(part, ShapedAttention) and part.mixings:
        return part.sees(tokens)
    alone = isinstance(part, ShapedMLP | ShapedResNet | ShapedAttention)
    return np.eye(tokens, dtype=bool) if alone else np.ones((tokens, tokens), dtype=bool)
