"""Whether the activation can be tuned to criticality, whether the network is, and what to initialise with."""

from dataclasses import asdict
from typing import Any

import numpy as np

from ...critical import Criticality, CriticalPoint
from ...networks import MLP, ResidualMLP
from ..inputs import best_mean_square
from ..numbers import digits
from ..plain import plain
from ..section import Column, Fact, Part, Section, Table, Tone, Words

_SAME = 1e-9  # relative difference of hyperparameters below which a network counts as tuned


def about_criticality(net: MLP | ResidualMLP, verdict: Criticality) -> Section:
    """Class and reason, all critical points, the recommended one."""
    name, tuned = net.activation.name, is_tuned(net, verdict)
    facts = (Fact("universality class", str(verdict.universality_class)),)
    parts = Words(advice(name, verdict, tuned) + _of_skips(net, verdict)), _points(verdict)
    return Section("criticality", "Criticality", plain(_data(verdict, tuned)), parts, facts)


def is_tuned(net: MLP | ResidualMLP, verdict: Criticality) -> bool:
    """Whether a network is initialised at the recommended point: in layers with a skip at 1 - gamma^2 of it, PDLT (B.20)-(B.21)."""
    point = verdict.point
    if point is None:
        return False
    share = np.where(net.has_skip, 1 - float(net.gamma) ** 2, 1.0) if isinstance(net, ResidualMLP) else 1.0
    if np.min(share) <= 0:
        return False
    pairs = ((net.C_b, share * point.C_b), (net.C_W, share * point.C_W))
    return all(bool(np.allclose(own, other, rtol=_SAME, atol=_SAME)) for own, other in pairs)


def advice(name: str, verdict: Criticality, tuned: bool) -> str:
    """The verdict on the activation `name`, and what to initialise with."""
    text = f"{name} is in the class “{verdict.universality_class}”: {verdict.reason}. "
    point = verdict.point
    if point is None:
        return text + "It cannot be tuned to criticality: signals or their differences grow or die with depth."
    if tuned:
        text += "This network is initialised at the recommended point. "
    else:
        text += f"This network is not critical: C_b = {point.C_b:.8g}, C_W = {point.C_W:.8g} would be. "
    if point.K_star:
        mean_square = best_mean_square(point)
        text += f"Normalise inputs to mean square {mean_square:.5g}, so that the kernel starts at K*."
    return text.rstrip()


def _of_skips(net: MLP | ResidualMLP, verdict: Criticality) -> str:
    """What a skip makes of the recommended point."""
    if not isinstance(net, ResidualMLP) or verdict.point is None:
        return ""
    rest = 1 - float(net.gamma) ** 2
    if rest <= 0:
        return " These are numbers without skips: at gamma² >= 1 no network is critical."
    return f" These are numbers without skips: layers with a skip take 1 - gamma² = {rest:.6g} times as much of both."


def _data(verdict: Criticality, tuned: bool) -> dict[str, Any]:
    point = verdict.point
    return {
        "class": verdict.universality_class,
        "tunable": verdict.tunable,
        "reason": verdict.reason,
        "critical_points": [asdict(each) for each in verdict.critical_points],
        "recommended": None if point is None else asdict(point) | {"mean_square": best_mean_square(point)},
        "tuned": tuned,
        "coefficients": {"a1": verdict.a1, "a2": verdict.a2, "b1": verdict.b1},
        "exponents": None if verdict.exponents is None else asdict(verdict.exponents),
    }


def _points(verdict: Criticality) -> Part:
    points = verdict.critical_points
    if not points:
        return Words("no critical point", Tone.RISKY)
    chosen = [point is verdict.point for point in points]
    return Table(
        (
            Column("C_b", digits((point.C_b for point in points), 8), digits((point.C_b for point in points), 10)),
            Column("C_W", digits((point.C_W for point in points), 8), digits((point.C_W for point in points), 10)),
            Column("K*", tuple(_kernel(point, 7) for point in points), tuple(_kernel(point, 10) for point in points)),
            Column("kernels near K*", tuple(str(point.stability) for point in points), left=True),
            Column("", tuple("← recommended" if here else "" for here in chosen), left=True),
        ),
        tones=tuple(Tone.CHOSEN if here else Tone.SOFT for here in chosen),
    )


def _kernel(point: CriticalPoint, count: int) -> str:
    return "any" if point.K_star is None else f"{point.K_star:.{count}g}"
