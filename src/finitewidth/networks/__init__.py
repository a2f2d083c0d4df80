"""Immutable descriptions of networks, and nothing else."""

from . import shaped as shaped
from .layer import Layer as Layer, ResidualLayer as ResidualLayer
from .layered import LayeredNetwork as LayeredNetwork, as_layered as as_layered
from .mlp import MLP as MLP, as_mlp as as_mlp
from .network import Network as Network
from .residual import ResidualMLP as ResidualMLP
