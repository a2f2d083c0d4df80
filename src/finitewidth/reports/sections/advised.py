"""The sections of a recommendation: the verdict, the numbers, and where the network sits."""

import math
from functools import partial
from typing import Any

import numpy as np

from ...advice.global_rate import Number
from ...advice.numbers import SPREAD, DepthCurves
from ...figures import depth_and_width
from ...figures.style import BLUE, GREY, ORANGE
from ...networks import MLP
from ...results.typical import TypicalNetworks
from ..plain import plain
from ..section import Code, Column, Details, Drawing, Fact, Section, Sparkline, Table, Tone, Words
from .what_to_do import RATES
from .what_to_do_with_skips import skip_lines

_STRONG, _COLLAPSED = 0.5, 0.99


def about_verdict(net: MLP, asked: str, reason: str | None, numbers: dict[str, Number]) -> Section:
    """In a sentence or two; `reason` says why the activation asked for cannot be tuned."""
    headline, tone = verdict(net.depth, numbers)
    lines = [headline]
    if reason is not None:
        lines.append(f"Take {net.activation.name} instead of {asked}, which has no critical initialisation: {reason}.")
    if "correlation" in numbers:
        lines.append(of_correlation(numbers["correlation"].value))
    facts = tuple(
        Fact(label, f"{numbers[name].value:.4g}")
        for name, label in (("C_W", "C_W"), ("C_b", "C_b"), ("fluctuation", "V/(nK²)"), ("sgd_rate", "η of SGD"))
        if name in numbers
    )
    parts = (Words(lines[0], tone), *map(Words, lines[1:]))
    return Section("verdict", "Verdict", plain({"headline": headline, "lines": lines[1:]}), parts, facts)


def verdict(depth: int, numbers: dict[str, Number]) -> tuple[str, Tone]:
    """By the size of the fluctuations, for the initialisation below keeps averages in order."""
    if depth == 1:
        return "One layer: there is no depth to go wrong.", Tone.GOOD
    fluctuation = numbers["fluctuation"].value
    if fluctuation <= SPREAD:
        return "Initialised as below, depth and width go together: networks drawn alike are alike.", Tone.GOOD
    ways, closer = f"hidden layers of about {numbers['widest_needed'].value:.0f} neurons", ""
    if "fluctuation_with_skips" in numbers:
        skips, left = (
            f"kip connections of strength {numbers['gamma'].value:.3g}",
            numbers["fluctuation_with_skips"].value,
        )
        if left <= SPREAD:
            ways += f", or s{skips}"
        else:
            closer = f" S{skips} bring them closer, to a relative variance of {left:.3g}."
    to_do = f"To make them alike, take {ways}.{closer} {_NOT_TRAINING}"
    if fluctuation <= _STRONG:
        return f"Deep for its width: networks drawn alike differ visibly. {to_do}", Tone.RISKY
    return (
        f"Too deep for its width: networks drawn alike differ by factors, and averages describe few of them. {to_do}",
        Tone.BAD,
    )


_NOT_TRAINING = "This is about how much networks drawn alike differ, not about whether one of them can be trained."


def of_correlation(last: float) -> str:
    """Whether the outputs still tell inputs apart."""
    if last > _COLLAPSED:
        return (
            f"Inputs merge with depth: in wide networks two typical ones have a correlation of {last:.4g} at the output. Fewer layers, or "
            "skip connections, keep them apart."
        )
    return (
        f"Wide networks can still tell inputs apart: two typical ones have a correlation of {last:.3g} at the output."
    )


def about_numbers(numbers: list[Number]) -> Section:
    """All of them, with reasons."""
    data = {each.name: {"value": each.value, **_words(each)} for each in numbers}
    columns = (
        Column("what", tuple(each.name for each in numbers), left=True),
        Column("value", tuple(f"{each.value:.6g}" for each in numbers)),
        Column("meaning", tuple(each.meaning for each in numbers), left=True, wide=True),
        Column("equation", tuple(each.equation for each in numbers), left=True),
    )
    why = tuple(Words(f"{each.name}: {each.meaning}. Because: {each.reason}. Trust: {each.trust}.") for each in numbers)
    return Section(
        "numbers", "The numbers", plain(data), (Table(columns), Details("Why, and how far to trust them", why))
    )


def _words(number: Number) -> dict[str, str]:
    return {name: getattr(number, name) for name in ("meaning", "reason", "equation", "trust")}


def about_code(initialisation: str, inputs: str, call: str, gamma: float, of_classes: bool) -> Section:
    """Lines to copy; the rate of cross-entropy where there are classes."""
    parts = [Words(inputs), Code(initialisation)]
    if gamma:
        parts += [Words("Then give hidden layers ways around them:"), Code(skip_lines(gamma, readout=True))]
    parts += [Words(RATES + (_OF_CLASSES if of_classes else "")), Code(call)]
    return Section("code", "What to do", plain({"initialisation": initialisation, "rates": call}), tuple(parts))


_OF_CLASSES = " For cross-entropy take `cross_entropy_rate` and `adam_cross_entropy_rate`."


def about_typical_networks(typical: TypicalNetworks, C_W: float | None) -> Section:
    """Medians and ranges where averages are those of a few, and the variance that keeps the median network's signals; without skip
    connections."""
    low, middle, high = typical.kernel[:, -1]
    least, median, most = typical.gradient[:, 0]
    first = float(typical.kernel[1, 0])
    data = {
        "networks": typical.networks,
        "kernel": typical.kernel[:, -1],
        "gradient": typical.gradient[:, 0],
        "C_W": C_W,
    }
    text = (
        f"Without skip connections, in {typical.networks} networks with this initialisation, the mean square of the last layer is "
        f"{middle:.3g} in the median and between {low:.3g} and {high:.3g} in 90 %, from {first:.3g} in the first; that of gradients of the "
        f"first layer is {median:.3g} in the median and between {least:.3g} and {most:.3g} in 90 %, one at the last."
    )
    lines = [Words(text)]
    if C_W is not None:
        lines.append(
            Words(
                f"C_W = {C_W:.6g} would keep the median network's signals at their size, where the critical value keeps their mean; "
                "networks would differ from one another as much."
            )
        )
    return Section("typical", "Typical networks", plain(data), tuple(lines))


def about_place(net: MLP, curves: DepthCurves) -> Section:
    """Maps for a page."""
    width = (net.depth - 1) / net.depth_over_width
    data = {"width": width, "depth": net.depth, "by_layer": {name: getattr(curves, name) for name in _CURVES}}
    maps = Drawing(
        "maps",
        partial(_maps, curves, width, net.depth),
        "Relative variances between networks drawn alike, to first order in 1/n, by depth and width; the point is your network.",
    )
    lines = Drawing(
        "collapse",
        partial(_lines, curves, width, net.depth),
        "Left: how alike two typical inputs become with depth, at infinite width. Right: relative variances at this width.",
    )
    own = slice(0, net.depth)
    glance = (
        Sparkline("V/(nK²) by layer", tuple(curves.kernel[own] / width)),
        Sparkline("tangent kernel's", tuple(curves.tangent[own] / width)),
        Sparkline("correlation", tuple(curves.correlation[own])),
    )
    return Section("place", "Where your network sits", plain(data), (*glance, maps, lines))


_CURVES = ("kernel", "tangent", "correlation")


def _maps(curves: DepthCurves, width: float, depth: int, axes: Any) -> None:
    depth_and_width(curves.kernel, width, depth, axes[0], title="kernel, $V/(nK^2)$")
    depth_and_width(curves.tangent, width, depth, axes[1], title=r"tangent kernel, $(A+2B)/(n\Theta^2)$")


def _lines(curves: DepthCurves, width: float, depth: int, axes: Any) -> None:
    layers = np.arange(1, len(curves.kernel) + 1)
    left, right = axes
    left.plot(layers, np.clip(1 - curves.correlation, 1e-16, None), color=BLUE)
    left.axvline(depth, color=ORANGE, linewidth=1.2)
    left.set(xlabel="layer", ylabel="1 - correlation", xscale="log", yscale="log", title="correlation collapse")
    right.plot(layers[1:], curves.kernel[1:] / width, color=BLUE, label="kernel")
    right.plot(layers[1:], curves.tangent[1:] / width, color=GREY, label="tangent kernel")
    right.axvline(depth, color=ORANGE, linewidth=1.2, label="your network")
    right.set(xlabel="layer", ylabel="relative variance", xscale="log", yscale="log", title=f"at width {width:.4g}")
    right.legend(loc="best")


def deepest_shown(depth: int) -> int:
    """The map goes to four times the network's depth, and to some depth for shallow ones."""
    return max(48, min(4 * depth, depth + 512))


def median_C_W(theory: TypicalNetworks | None, C_W: float, depth: int) -> float | None:
    """Each hidden layer multiplies the median's logarithm by as much, for scale-invariant activations: take that off."""
    if theory is None or depth < 2:
        return None
    first, last = float(theory.kernel[1, 0]), float(theory.kernel[1, -1])
    return C_W * math.exp(-math.log(last / first) / (depth - 1)) if last > 0 else None
