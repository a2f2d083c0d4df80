"""The two layers of a block that a language model is made of."""

from typing import NamedTuple

from ..._errors import ArgumentError, DomainError
from ...activations.families import ScaleInvariant
from ...networks.shaped import BlockNetwork
from ...networks.shaped.sublayers import AttentionBranch, FeedForwardBranch, Residual


class Layers(NamedTuple):
    """One attention and one feedforward layer: their branches, and what is common to both."""

    attention: AttentionBranch
    feedforward: FeedForwardBranch
    residuals: tuple[Residual, Residual]
    negative_slope: float
    """The slope of the activation for negative numbers; for positive ones it is one."""

    @property
    def normalised(self) -> str | None:
        """Where layer normalisation acts: on what a branch sees (`"pre"`), on the sum (`"post"`), or nowhere."""
        return self.residuals[0].normalised


def layers_of(net: BlockNetwork, tokens: int) -> Layers:
    """The layers of one block of `net` for sequences of so many tokens, refused unless they are those of a Transformer."""
    layers = net.block.sublayers(net.width, tokens)
    match layers:
        case (
            Residual(branch=AttentionBranch() as attention) as first,
            Residual(branch=FeedForwardBranch() as feedforward) as second,
        ):
            pass
        case _:
            got = ", ".join(type(getattr(layer, "branch", layer)).__name__ for layer in layers)
            raise ArgumentError("net", f"blocks of {got}", "blocks of one attention and one feedforward layer")
    if attention.output_projection:
        raise DomainError("output_projection", True, "False: language models have none")
    activation = feedforward.activation
    if not isinstance(activation, ScaleInvariant) or activation.a_plus != 1:
        raise ArgumentError(
            "net", f"blocks with the activation {activation!r}", "a ReLU with c_plus = 0, shaped or plain"
        )
    return Layers(attention, feedforward, (first, second), float(activation.a_minus))
