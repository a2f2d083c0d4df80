"""Immutable descriptions of networks, and nothing else."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from . import shaped as shaped
    from .layer import Layer as Layer, ResidualLayer as ResidualLayer
    from .layered import LayeredNetwork as LayeredNetwork, as_layered as as_layered
    from .mlp import MLP as MLP, as_mlp as as_mlp
    from .network import Network as Network
    from .residual import ResidualMLP as ResidualMLP

_NAMES = {
    ".": "shaped",
    ".layer": "Layer ResidualLayer",
    ".layered": "LayeredNetwork as_layered",
    ".mlp": "MLP as_mlp",
    ".network": "Network",
    ".residual": "ResidualMLP",
}
__all__ = _offered(__name__, _NAMES)
