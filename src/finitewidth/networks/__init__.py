"""Immutable descriptions of networks."""

from .mlp import MLP as MLP, inverse_widths as inverse_widths
