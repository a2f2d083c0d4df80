r"""What the size of the fluctuations means for the use of theory, PDLT (0.14)-(0.19).

The expansion parameter is the relative variance of the metric, $V/(nK^2) \simeq \nu L/n$: what the flow leaves out is
smaller than what it keeps by this factor.
"""

import math
from dataclasses import dataclass

from ...networks import MLP, ResidualMLP
from ..plain import plain
from ..section import Fact, Section, Words


@dataclass(frozen=True)
class Regime:
    """A range of fluctuations: its name and its meaning."""

    below: float
    label: str
    meaning: str


_REGIMES = (
    Regime(
        0.01,
        "nearly infinite width",
        "kernels of different networks agree within a tenth, and the infinite-width theory is a good description of signals; "
        "gradients may still differ from network to network",
    ),
    Regime(
        0.1,
        "effectively deep",
        "networks differ visibly, and the first correction in 1/n describes how: the regime the theory is for",
    ),
    Regime(
        0.5,
        "strained",
        "the first correction still gives the size of the fluctuations, but the orders left out are a sizeable part "
        "of it: check against a simulation",
    ),
    Regime(
        float("inf"),
        "strongly coupled",
        "kernels vary from network to network by most of their own size or more, and the first order is no measure of it any more: look at "
        "typical networks or a simulation, take more width or less depth",
    ),
)


def regime(fluctuation: float) -> Regime:
    """The regime of a relative variance of the metric."""
    return next(regime for regime in _REGIMES if fluctuation < regime.below or regime is _REGIMES[-1])


def about_validity(net: MLP | ResidualMLP, fluctuation: float) -> Section:
    """`fluctuation` is the largest relative variance of the metric in the network."""
    found, spread = regime(fluctuation), math.sqrt(fluctuation)
    data = {
        "depth_over_width": net.depth_over_width,
        "relative_fluctuation": fluctuation,
        "relative_spread": spread,
        "label": found.label,
        "meaning": found.meaning,
    }
    facts = (
        Fact("depth over width, Σ 1/n", f"{net.depth_over_width:.4g}"),
        Fact("largest V/(nK²)", f"{fluctuation:.4g}"),
        Fact("regime", found.label),
    )
    said = sentence(spread, found.meaning) if net.depth > 1 else _ONE_LAYER
    return Section("validity", "Depth over width", plain(data), (Words(said),), facts)


_ONE_LAYER = "The kernel of one layer is the same in every network: nothing depends on depth or width."


def sentence(spread: float, meaning: str) -> str:
    """The kernel's standard deviation, relative to its mean, and what it means."""
    size = f"{100 * spread:.3g} % of" if spread < 1 else f"{spread:.3g} times"
    return f"To first order in 1/n the kernel's standard deviation between networks is {size} its mean: {meaning}."
