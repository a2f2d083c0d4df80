"""Immutable descriptions of networks."""

from .kernel_map import kernel as kernel
from .mlp import (
    MLP as MLP,
    LayerParameters as LayerParameters,
    inverse_widths as inverse_widths,
    layer_parameters as layer_parameters,
)
from .tangent_map import frozen_ntk as frozen_ntk
