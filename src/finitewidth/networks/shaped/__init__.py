"""Shaped networks: blocks whose depth may grow in proportion to their width, with the coefficients of that limit."""

from .activation import (
    ShapedActivation as ShapedActivation,
    ShapedReLU as ShapedReLU,
    ShapedSmooth as ShapedSmooth,
    shaped as shaped,
    shaped_relu as shaped_relu,
)
from .attention import ShapedAttention as ShapedAttention
from .block import ShapedBlock as ShapedBlock
from .law import CovarianceLaw as CovarianceLaw, PathStatus as PathStatus
from .mlp import ShapedMLP as ShapedMLP
from .resnet import ShapedResNet as ShapedResNet
from .tokens import equal_tokens as equal_tokens
from .transformer import ShapedTransformer as ShapedTransformer
