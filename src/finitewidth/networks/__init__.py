"""Immutable descriptions of networks."""

from .empirical_ntk import empirical_ntk as empirical_ntk
from .kernel_map import kernel as kernel
from .mlp import (
    MLP as MLP,
    LayerParameters as LayerParameters,
    as_mlp as as_mlp,
    inverse_widths as inverse_widths,
    layer_parameters as layer_parameters,
)
from .parameters import Parameters as Parameters, draw_parameters as draw_parameters
from .realised_ntk import ntk as ntk, ntk_contributions as ntk_contributions
from .tangent_map import frozen_ntk as frozen_ntk
