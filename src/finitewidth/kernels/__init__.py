"""Infinite width: the layer as a map on kernel and tangent kernel, and its iteration."""

from .kernel_map import kernel as kernel
from .tangent_map import frozen_ntk as frozen_ntk
