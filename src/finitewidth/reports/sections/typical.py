"""Typical networks, for a depth over width at which means describe few of them."""

import math
from typing import Any

import numpy as np

from ...advice.numbers import SPREAD
from ...ensembles.typical import typical_networks
from ...exact.typical import typical_scale_invariant
from ...networks import MLP, ResidualMLP
from ...results.typical import TypicalNetworks
from ..numbers import digits, rounded
from ..plain import plain
from ..section import BY_LAYER, Column, Details, Section, Table, Words

WIDE_SPREAD = SPREAD
"""The relative variance of the kernel, or of the tangent kernel, from which networks are told apart."""

_NEURONS = 10_000_000  # drawn in all: a second or two
_FEWEST, _MOST = 64, 1024
_LOGNORMAL = 10  # the width from which a layer's factor is smooth enough for theory's quantiles
_SKEWED = 2.0  # the ratio of mean and median from which a mean is called that of a few
_SCATTERED = 10.0  # so is one of networks nine tenths of which are spread over more than this factor
_NOTE = "First input: the network's own kernel, and the sum of squares of one output's gradients by the pre-activations of the layer."
_LAWS = " Theory: nearly log-normal laws with the exact mean, variance and skewness of the logarithm."


def quick_typical(net: MLP, x: Any, seed: int) -> TypicalNetworks:
    """As many networks as a second or two allow."""
    count = int(np.clip(_NEURONS // max(1, sum(net.hidden_widths)), _FEWEST, _MOST))
    return typical_networks(net, x, networks=count, seed=seed)


def about_typical(net: MLP, x: Any, measured: TypicalNetworks, infinite: float, fluctuation: float) -> Section:
    """`infinite` is the last kernel of infinitely wide networks, `fluctuation` the largest relative variance of the metric to first
    order."""
    theory = typical_scale_invariant(net, x) if min(net.hidden_widths, default=0) >= _LOGNORMAL else None
    data = {
        "levels": (0.05, 0.5, 0.95),
        "networks": measured.networks,
        "measured": {"kernel": measured.kernel, "gradient": measured.gradient},
        "theory": None if theory is None else {"kernel": theory.kernel, "gradient": theory.gradient},
        "wide_enough": wide_enough(net, fluctuation),
    }
    parts = (
        Words(sentence(net, measured, theory, infinite, fluctuation)),
        Details("All layers", (_table(measured, theory),)),
    )
    return Section("typical", "Typical networks", plain(data), parts)


def wide_enough(net: MLP | ResidualMLP, fluctuation: float) -> int:
    """A width of all hidden layers at which the kernel's relative variance would fall to `WIDE_SPREAD`, as 1/n does."""
    mean_width = (net.depth - 1) / net.depth_over_width
    return math.ceil(mean_width * fluctuation / WIDE_SPREAD)


def sentence(
    net: MLP, measured: TypicalNetworks, theory: TypicalNetworks | None, infinite: float, fluctuation: float
) -> str:
    """What single networks look like, and what would make them alike."""
    low, middle, high = measured.kernel[:, -1]
    least, typical, most = measured.gradient[:, 0]
    apart = max(infinite / middle, middle / infinite) if middle > 0 else math.inf
    scattered = apart > _SKEWED or high > _SCATTERED * low
    few = "so that averages describe few of them" if scattered else "around an average that still describes them"
    wider = (
        f" Hidden layers of about {wide_enough(net, fluctuation)} neurons, at this depth and initialisation, would bring the kernel's "
        "standard deviation between networks down to a third of its mean."
        if fluctuation >= WIDE_SPREAD
        else ""
    )
    known = "" if theory is None else f" (by theory {theory.kernel[1, -1]:.3g})"
    return (
        f"Networks differ, {few}. In {measured.networks} of them the kernel of the last layer is {middle:.3g}{known} in the median "
        f"network and between {low:.3g} and {high:.3g} in 90 %; infinitely wide ones have {infinite:.3g}. Mean square gradients of "
        f"the first layer, one at the last, are {typical:.3g} in the median network and between {least:.3g} and {most:.3g} in 90 %."
        f"{wider}"
    )


def _table(measured: TypicalNetworks, theory: TypicalNetworks | None) -> Table:
    layers = tuple(str(layer) for layer in range(1, measured.kernel.shape[1] + 1))
    columns = [Column("layer", layers)]
    for name, head in (("kernel", "kernel"), ("gradient", "gradient²")):
        found = getattr(measured, name)
        columns.append(Column(f"{head},\nmedian", digits(found[1], 3)))
        if theory is not None:
            columns.append(Column("theory", digits(getattr(theory, name)[1], 3), wide=True))
        columns.append(Column("90 % of networks", tuple(" to ".join(rounded(pair, 2)) for pair in found[[0, 2]].T)))
    return Table(tuple(columns), note=_NOTE if theory is None else _NOTE + _LAWS, lines=BY_LAYER)
