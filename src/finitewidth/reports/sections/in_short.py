"""The head of a report on an MLP: what there is to know, in an engineer's words."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ...advice.numbers import SPREAD
from ...networks import ResidualMLP
from ...results.typical import TypicalNetworks
from ..comparison.flows import Comparison
from ..comparison.verdict import Verdict
from ..plain import plain
from ..section import Section, Tone, Words
from .at_this_depth import AtThisDepth, of_no_worse

_SAME = 2.0  # a factor within which something counts as unchanged
_FAR = 100.0  # in mean square, ten in size: so far from infinitely wide networks a median one has ills of its own
_WRITTEN_OUT = 1e6  # numbers below

_ILLS = ("signals explode", "signals vanish", "gradients explode", "gradients vanish")


def about_in_short(
    depth: int,
    kernel: Float[np.ndarray, " L"],
    training: dict[str, Any] | None,
    fluctuation: float,
    typical: TypicalNetworks | None,
    comparison: Comparison,
    at_depth: AtThisDepth | None = None,
) -> Section:
    """`kernel` is that of infinite width, `training` the data of that section, `fluctuation` the relative variance of the metric,
    `at_depth` what tuning would change."""
    problems, limits = None, None
    if training is not None:
        problems, limits = training["problems"], (float(kernel[-1]), float(training["gradient_factor"]))
    headline, tone = verdict(depth, problems, typical, limits, at_depth)
    lines = []
    if depth > 1:
        lines.append(of_signals(kernel, fluctuation, typical))
        if training is not None:
            lines.append(of_gradients(training["gradient_factor"], training["critical"], typical))
        lines.append(of_agreement(comparison.verdict, comparison.networks, comparison.silent))
    data = plain({"headline": headline, "lines": lines})
    return Section("in_short", "In short", data, (Words(headline, tone), *map(Words, lines)))


def about_residual_in_short(
    net: ResidualMLP,
    tuned: bool,
    tunable: bool,
    kernel: Float[np.ndarray, " L"],
    fluctuation: float,
    comparison: Comparison,
) -> Section:
    """Of a residual network, `tuned` or not; what its gradients do beyond that is not said."""
    headline, tone = verdict_with_skips(net.depth, float(net.gamma), tuned, tunable, fluctuation)
    lines = []
    if net.depth > 1:
        lines.append(of_signals(kernel, fluctuation, None) if fluctuation < SPREAD else of_scattered_signals(kernel))
        lines.append(of_agreement(comparison.verdict, comparison.networks, comparison.silent))
    data = plain({"headline": headline, "lines": lines})
    return Section("in_short", "In short", data, (Words(headline, tone), *map(Words, lines)))


def verdict_with_skips(depth: int, gamma: float, tuned: bool, tunable: bool, fluctuation: float) -> tuple[str, Tone]:
    """The headline of a residual network, by its criticality and by how much networks differ."""
    if depth == 1:
        return verdict(depth, None, None)
    if tuned and fluctuation >= SPREAD:
        return (
            "Deep for its width: at the critical point of its activation and skips depth acts on infinitely wide networks by powers only, "
            "but networks of this width, drawn alike, differ widely.",
            Tone.RISKY,
        )
    if tuned:
        return (
            "At the critical point of its activation and skips: there depth acts on the average network by powers only.",
            Tone.GOOD,
        )
    if gamma**2 >= 1:
        return (
            "Not critical, as no network with gamma² >= 1 is: weights add to signals that skips do not shrink.",
            Tone.RISKY,
        )
    if tunable:
        return "Not critical: `fw.tune` sets the C_b and C_W with which depth would act by powers only.", Tone.RISKY
    return "Not critical, and no C_b and C_W make it so: the activation has no critical point.", Tone.RISKY


def verdict(
    depth: int,
    problems: Sequence[str] | None,
    typical: TypicalNetworks | None,
    limits: tuple[float, float] | None = None,
    at_depth: AtThisDepth | None = None,
) -> tuple[str, Tone]:
    """The headline: depth first, for no width mends what depth does to infinitely wide networks. `problems` are those of
    `diagnose_gradients`, `None` where there are no gradients; `typical` networks are looked at where they differ, beside the `limits`
    of infinite width: the last layer's kernel, and the factor of gradients. Problems count where tuning would mend them `at_depth`."""
    if depth == 1:
        return "One layer: there is no depth to go wrong.", Tone.GOOD
    if problems is None:
        return "The activation jumps: it has no gradients to train with.", Tone.BAD
    if problems and at_depth is not None and at_depth.no_worse:
        return of_no_worse(depth, at_depth, typical is not None), Tone.RISKY
    if problems:
        ills = " and ".join(ill for ill in _ILLS if any(ill in problem for problem in problems))
        return f"Worth changing before training: {ills} with depth.", Tone.BAD
    if typical is not None:
        return _scattered(typical.kernel[:, -1], typical.gradient[:, 0], limits)
    return "Well initialised for its depth and width.", Tone.GOOD


def _scattered(
    kernel: Float[np.ndarray, " 3"], gradient: Float[np.ndarray, " 3"], limits: tuple[float, float] | None
) -> tuple[str, Tone]:
    """Of networks that differ: quantiles of the last kernel and of the first gradient."""
    low, median, _ = (kernel == 0) | (gradient == 0)
    if median:
        return (
            "Too deep for its width: most networks drawn alike are dead, with signals or gradients of exactly zero.",
            Tone.BAD,
        )
    if low:
        return (
            "Narrow for its depth: of networks drawn alike more than one in twenty is dead, with signals or gradients of exactly zero.",
            Tone.BAD,
        )
    ills = [] if limits is None else _ills_of_median(float(kernel[1]), float(gradient[1]), limits)
    if ills:
        return (
            "Too deep for its width: infinitely wide networks would be well initialised, but in the median network of this width the mean "
            f"square of {' and that of '.join(ills)} than in those.",
            Tone.BAD,
        )
    signals, gradients = kernel[2] / kernel[0], gradient[2] / gradient[0]
    return (
        "Deep for its width: infinitely wide networks would be well initialised, but of networks of this width, drawn alike, 90 % spread "
        f"over a factor of {_about(signals)} in the mean square of their signals and {_about(gradients)} in that of their gradients.",
        Tone.RISKY,
    )


def _ills_of_median(kernel: float, gradient: float, limits: tuple[float, float]) -> list[str]:
    found = []
    for what, ratio in (("signals", kernel / limits[0]), ("gradients", gradient / limits[1])):
        if not 1 / _FAR < ratio < _FAR:
            found.append(f"{what} is {_about(max(ratio, 1 / ratio))} times {'smaller' if ratio < 1 else 'larger'}")
    return found


def of_signals(kernel: Float[np.ndarray, " L"], fluctuation: float, typical: TypicalNetworks | None) -> str:
    """From the first layer to the last."""
    first, last = float(kernel[0]), float(kernel[-1])
    if typical is None:
        return (
            f"Signals {_changed(last / first)} from the first layer to the last: their mean square goes from {first:.3g} to {last:.3g}"
            f"{_on_the_way(kernel)}, give or take {_per_cent(fluctuation)} from network to network."
        )
    low, middle, high = typical.kernel[:, -1]
    return (
        f"Signals of a typical network {_changed(middle / first)} from the first layer to the last: their mean square goes from "
        f"{first:.3g} to {middle:.3g} in the median network, to between {low:.3g} and {high:.3g} in 90 % of them."
    )


def of_scattered_signals(kernel: Float[np.ndarray, " L"]) -> str:
    """Of infinite width, where the first order is no measure of how networks differ."""
    first, last = float(kernel[0]), float(kernel[-1])
    return (
        f"Signals of infinitely wide networks {_changed(last / first)} from the first layer to the last: their mean square goes from "
        f"{first:.3g} to {last:.3g}{_on_the_way(kernel)}. From network to network of this width that varies by about a third or more."
    )


def of_gradients(factor: float, critical: bool, typical: TypicalNetworks | None) -> str:
    """From the last layer to the first."""
    if typical is None:
        mended = (
            "" if _same(factor) or not critical else ", a power of depth, which the learning rates below make up for"
        )
        return f"Gradients {_changed(factor)} on their way back to the first layer: their mean square {_by(factor)}{mended}."
    low, middle, high = typical.gradient[:, 0]
    return (
        f"Gradients of a typical network {_changed(middle)} on their way back to the first layer: their mean square {_by(middle)} "
        f"in the median network, between {low:.3g} and {high:.3g} in 90 % of them."
    )


def of_agreement(verdict: Verdict, networks: int, silent: str) -> str:
    """What the comparison comes to, and of what it says nothing: agreement of the rest must not be taken for agreement of all."""
    drawn = f"Theory and the {networks} networks drawn"
    match verdict:
        case Verdict.AGREE:
            return f"{drawn} agree."
        case Verdict.IN_PART:
            return f"{drawn} agree where so many can tell. They cannot for {silent}: a few rare networks decide these averages."
        case Verdict.DISAGREE:
            but = f", except for {silent}, which a few rare networks decide" if silent else ""
            return f"{drawn} differ by more than noise: go by the measured numbers{but}."
        case Verdict.CANNOT_TELL:
            return f"{drawn} cannot be compared for {silent}: too few of them decide these averages."


def _about(factor: float) -> str:
    """Two digits, in words an engineer reads: 140, not 1.4e+02; of large numbers the power of ten."""
    rounded = float(f"{factor:.2g}")
    return f"{rounded:g}" if rounded < _WRITTEN_OUT else f"10^{math.floor(math.log10(rounded))}"


def _by(factor: float) -> str:
    return "stays the same" if f"{factor:.3g}" == "1" else f"changes by a factor of {factor:.3g}"


def _same(factor: float) -> bool:
    return bool(1 / _SAME <= factor <= _SAME)


def _changed(factor: float) -> str:
    if _same(factor):
        return "keep their size"
    return "grow" if factor > 1 else "shrink"


def _on_the_way(kernel: Float[np.ndarray, " L"]) -> str:
    """The largest or smallest value in between, where both ends hide it."""
    ends = kernel[[0, -1]]
    if kernel.max() > _SAME * ends.max():
        return f", with {kernel.max():.3g} on the way"
    if kernel.min() < ends.min() / _SAME:
        return f", with {kernel.min():.3g} on the way"
    return ""


def _per_cent(fluctuation: float) -> str:
    """The standard deviation, relative to the mean; it is less than a third where it is shown."""
    return f"{100 * float(np.sqrt(fluctuation)):.2g} %"
