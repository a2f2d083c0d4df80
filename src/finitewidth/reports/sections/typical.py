"""Typical networks, for a depth over width at which means describe few of them."""

import math
from typing import Any

import numpy as np

from ...ensembles.typical import typical_networks
from ...exact.typical import typical_scale_invariant
from ...networks import MLP
from ...results.typical import TypicalNetworks
from ..numbers import digits
from ..plain import plain
from ..section import BY_LAYER, Column, Section, Table, Words

WIDE_SPREAD = 0.1
"""The relative variance of the kernel from which networks are told apart."""

_WEIGHTS = 300_000_000  # drawn in all: ten seconds
_FEWEST, _MOST = 32, 512
_NOTE = (
    "First input: the network's own kernel, and the sum of squares of one output's gradients by the pre-activations of the layer. "
    "Theory: log-normal laws with the exact mean and variance of the logarithm."
)


def about_typical(net: MLP, x: Any, mean: float, fluctuation: float, seed: int) -> Section:
    """`mean` is theory's mean kernel of the last layer, `fluctuation` the largest relative variance of the metric to first order."""
    count = int(np.clip(_WEIGHTS // net.parameters, _FEWEST, _MOST))
    measured, theory = typical_networks(net, x, networks=count, seed=seed), typical_scale_invariant(net, x)
    data = {
        "levels": (0.05, 0.5, 0.95),
        "networks": count,
        "measured": {"kernel": measured.kernel, "gradient": measured.gradient},
        "theory": None if theory is None else {"kernel": theory.kernel, "gradient": theory.gradient},
        "wide_enough": wide_enough(net, fluctuation),
    }
    parts = Words(sentence(net, measured, mean, fluctuation)), _table(measured, theory)
    return Section("typical", "Typical networks", plain(data), parts)


def wide_enough(net: MLP, fluctuation: float) -> int:
    """A width of all hidden layers at which the kernel's relative variance would fall to `WIDE_SPREAD`, as 1/n does."""
    mean_width = (net.depth - 1) / net.depth_over_width
    return math.ceil(mean_width * fluctuation / WIDE_SPREAD)


def sentence(net: MLP, measured: TypicalNetworks, mean: float, fluctuation: float) -> str:
    """What single networks look like, and what would make them alike."""
    low, middle, high = measured.kernel[:, -1]
    least, typical, most = measured.gradient[:, 0]
    return (
        f"Networks differ so much that means describe few of them. At the last layer the kernel is {middle:.3g} in the median "
        f"network and between {low:.3g} and {high:.3g} in 90 % of them, where theory's mean is {mean:.3g}. Mean square gradients of "
        f"the first layer, one at the last, are {typical:.3g} in the median network and between {least:.3g} and {most:.3g} in 90 %. "
        f"Hidden layers of about {wide_enough(net, fluctuation)} neurons, at this depth, would bring the kernel's standard deviation "
        "between networks down to a third of its mean."
    )


def _table(measured: TypicalNetworks, theory: TypicalNetworks | None) -> Table:
    layers = tuple(str(layer) for layer in range(1, measured.kernel.shape[1] + 1))
    columns = [Column("layer", layers)]
    for name, head in (("kernel", "kernel"), ("gradient", "gradient²")):
        found = getattr(measured, name)
        columns.append(Column(f"{head},\nmedian", digits(found[1], 3)))
        if theory is not None:
            columns.append(Column("theory", digits(getattr(theory, name)[1], 3), wide=True))
        columns.append(Column("90 % of networks", tuple(f"{low:.2g} to {high:.2g}" for low, high in found[[0, 2]].T)))
    return Table(tuple(columns), note=_NOTE, lines=BY_LAYER)
