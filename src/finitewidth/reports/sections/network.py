"""What a report on an MLP is about."""

from collections.abc import Sequence

import numpy as np

from ...networks import MLP, ResidualMLP
from ..plain import describe, plain
from ..section import Section, Words


def about_network(net: MLP | ResidualMLP) -> Section:
    """The head of a report."""
    return Section("network", f"{net.activation.name} {_kind(net)}", plain(describe(net)), (Words(sentence(net)),))


def sentence(net: MLP | ResidualMLP) -> str:
    """The network in one line."""
    return (
        f"{net.activation.name} {_kind(net)} of {net.depth} layer{'s' if net.depth > 1 else ''}, widths {_widths(net.widths)}; "
        f"C_b = {_range(net.C_b.tolist())}, C_W = {_range(net.C_W.tolist())}; "
        f"{f'gamma = {float(net.gamma):.6g}; ' if isinstance(net, ResidualMLP) else ''}{net.parameters:,} parameters"
    )


def _kind(net: MLP | ResidualMLP) -> str:
    return "residual MLP" if isinstance(net, ResidualMLP) else "MLP"


def _widths(widths: Sequence[int]) -> str:
    """`64, 512 × 31, 1`: repeated widths counted."""
    runs = np.split(np.asarray(widths), np.flatnonzero(np.diff(widths)) + 1)
    return ", ".join(f"{run[0]} × {len(run)}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _range(values: Sequence[float]) -> str:
    """`1.5`, or `1 to 2` where layers differ."""
    low, high = min(values), max(values)
    return f"{low:.8g}" if low == high else f"{low:.6g} to {high:.6g}"
