"""Shaped networks: blocks whose depth may grow in proportion to their width, with the coefficients of that limit."""

from typing import TYPE_CHECKING

from ..._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .ablations import AblatedAttention as AblatedAttention, FiniteStack as FiniteStack
    from .activation import (
        ShapedActivation as ShapedActivation,
        ShapedReLU as ShapedReLU,
        ShapedSmooth as ShapedSmooth,
        shaped_relu as shaped_relu,
        shaped_smooth as shaped_smooth,
    )
    from .attention import ShapedAttention as ShapedAttention
    from .bends import SlopeTensors as SlopeTensors, slope_tensors as slope_tensors
    from .block import ShapedBlock as ShapedBlock
    from .finite import Block as Block, BlockNetwork as BlockNetwork
    from .layer_norm import LayerNormTransformer as LayerNormTransformer
    from .mlp import ShapedMLP as ShapedMLP
    from .resnet import ShapedResNet as ShapedResNet
    from .tokens import equal_tokens as equal_tokens
    from .transformer import ShapedTransformer as ShapedTransformer

_NAMES = {
    ".ablations": "AblatedAttention FiniteStack",
    ".activation": "ShapedActivation ShapedReLU ShapedSmooth shaped_relu shaped_smooth",
    ".attention": "ShapedAttention",
    ".bends": "SlopeTensors slope_tensors",
    ".block": "ShapedBlock",
    ".finite": "Block BlockNetwork",
    ".layer_norm": "LayerNormTransformer",
    ".mlp": "ShapedMLP",
    ".resnet": "ShapedResNet",
    ".tokens": "equal_tokens",
    ".transformer": "ShapedTransformer",
}
__all__ = _offered(__name__, _NAMES)
