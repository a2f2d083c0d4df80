"""Immutable descriptions of networks, and nothing else."""

from . import shaped as shaped
from .layer import Layer as Layer
from .mlp import MLP as MLP, as_mlp as as_mlp
from .network import Network as Network
