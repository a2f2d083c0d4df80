"""Transformers kept stable by layer normalisation instead of shaping, for comparison."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ..._errors import DomainError, UnknownNameError
from ..._validation import as_number
from ...activations import as_activation
from .attention import ShapedAttention
from .finite import Block
from .sublayers import FeedForwardBranch, Residual, Sublayer, hidden_units

_POSITIONS = ("post", "pre")


class LayerNormTransformer(Block):
    r"""Plain attention and a plain ReLU layer, each added to the stream, with layer normalisation.

    `position` is `"pre"`, $X' = X + \gamma F({\rm LN}(X))$, or `"post"`, $X' = {\rm LN}(X + \gamma F(X))$, where $F$ is first
    ${\rm softmax}(Y/\sqrt{n_k})XW^V/\sqrt n$, then ${\rm relu}(XW/\sqrt n)\sqrt{2/n_h}\,W'$ (Shaped Transformer figures 1 and 2).
    One unit of depth is both. `heads`, `mask`, `key_width` and `output_projection` are those of `ShapedAttention`.
    """

    attention: ShapedAttention
    position: str = eqx.field(static=True)
    gamma: float
    hidden_ratio: float = eqx.field(static=True)

    def __init__(
        self,
        position: str = "pre",
        gamma: float = 1.0,
        heads: int = 1,
        mask: Any = None,
        key_width: int | None = None,
        output_projection: bool = False,
        hidden_ratio: float = 1.0,
    ):
        if not isinstance(position, str) or position not in _POSITIONS:
            raise UnknownNameError("position", position, _POSITIONS)
        self.position = position
        self.gamma = as_number(gamma, "gamma", low=0.0)
        self.attention = ShapedAttention(1.0, 1.0, heads, mask, key_width, output_projection)
        self.hidden_ratio = as_number(hidden_ratio, "hidden_ratio", low=0.0)
        if self.hidden_ratio == 0:
            raise DomainError("hidden_ratio", hidden_ratio, "a positive number n_h/n")

    def check_width(self, width: int) -> None:
        """Its attention must fit the width."""
        self.attention.check_width(width)

    def sublayers(self, width: int, tokens: int) -> tuple[Sublayer, ...]:
        """Plain attention and a plain ReLU layer."""
        plain = self.attention.sublayer(width, tokens, identity=False, centred=False, shaped_temperature=False)
        relu = FeedForwardBranch(as_activation("relu"), 2.0, hidden_units(self.hidden_ratio, width))
        one, gamma = jnp.ones(()), jnp.asarray(self.gamma)
        return tuple(Residual(branch, one, gamma, self.position) for branch in (plain.branch, relu))
