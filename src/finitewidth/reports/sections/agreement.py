"""How far theory and networks are apart, in standard errors."""

import math
from functools import partial

import numpy as np

from ...figures import comparison as draw_comparison
from ..comparison.flow_tables import FAR, cannot_tell, deviation
from ..comparison.flows import Comparison
from ..comparison.rows import Summary
from ..comparison.verdict import Verdict
from ..numbers import digits, with_error
from ..plain import plain
from ..section import Column, Drawing, Section, Table, Tone, Words

_CAPTION = "Every independent entry of the mean metric G, its shift G1 and the vertex V. Shaded: four standard errors."
_WORST = 5
_EXPECTED = 3.0  # times the relative variance of the metric: of the size of what theory leaves out


def about_agreement(comparison: Comparison, fluctuation: float) -> Section:
    """`fluctuation` is the largest relative variance of the metric: what theory leaves out is smaller by as much."""
    data = {
        "entries": len(comparison),
        "verdict": comparison.verdict,
        "cannot_tell": comparison.silent,
        "would_show": {name: comparison.noticed(name) for name in comparison.quantities},
        "worst": comparison.worst._asdict(),
        "summary": [line._asdict() for line in comparison.summary()],
    }
    parts = (
        Drawing("deviations", partial(draw_comparison, comparison), _CAPTION),
        Words(sentence(comparison, fluctuation)),
        _largest(comparison),
        _farthest(comparison),
    )
    return Section("agreement", "Theory against networks", plain(data), parts)


def sentence(comparison: Comparison, fluctuation: float) -> str:
    """How theory fares, and what to expect of it."""
    if not (comparison.standard_error > 0).any():
        return "Nothing fluctuates in a network of one layer."
    share = f"up to about {100 * fluctuation:.3g} %" if fluctuation < 1 else "more than the whole"
    said = (
        f"{comparison.networks} networks. {comparison.sentence} Theory leaves out the next order in 1/n, here {share} of V and of the "
        f"shift of K: {_resolved(comparison, fluctuation)}"
    )
    silent = int(np.sum(~comparison.trustworthy))
    return f"{said} {cannot_tell(silent, len(comparison), comparison.method)}" if silent else said


def _resolved(comparison: Comparison, fluctuation: float) -> str:
    """Whether what theory leaves out is what is seen."""
    if comparison.verdict is not Verdict.DISAGREE:
        return "more networks would resolve it, wider ones shrink it."
    if off_by(comparison) <= _EXPECTED * fluctuation:
        return "so many networks resolve it, and what they show is of that size. Go by the measured numbers."
    return "what so many networks show is larger than that. Go by the measured numbers."


def off_by(comparison: Comparison) -> float:
    """The relative difference of the entry that is farthest off; infinite where theory has zero."""
    worst = comparison.worst
    return abs(worst.measured / worst.theory - 1) if worst.theory else float("inf")


def _largest(comparison: Comparison) -> Table:
    """One line a quantity; the last column is an error of theory, in parts of what it says, that would have been noticed."""
    names = comparison.quantities
    of = {name: [line for line in comparison.summary() if line.quantity == name] for name in names}
    return Table(
        (
            Column("quantity", tuple(names), left=True),
            Column("entries", tuple(str(sum(line.entries for line in lines)) for lines in of.values())),
            Column("cannot tell", tuple(str(sum(line.cannot_tell for line in lines)) for lines in of.values())),
            Column("largest deviation", tuple(_in_standard_errors(lines) for lines in of.values())),
            Column("would show", tuple(_from(comparison.noticed(name)) for name in names)),
        )
    )


def _from(share: float) -> Words:
    if not math.isfinite(share):
        return Words("-", Tone.SOFT)
    return Words(f"errors from {100 * share:.2g} %" if share < 1 else f"errors from {share:.2g} times")


def _in_standard_errors(lines: list[Summary]) -> Words:
    told = any(line.expected_largest > 0 for line in lines)
    if not told and any(line.cannot_tell for line in lines):
        return Words("cannot tell", Tone.SOFT)
    value = max(line.largest for line in lines)
    return Words(f"{value:.2f} std. errors", Tone.BAD if value > FAR else Tone.GOOD)


def _farthest(comparison: Comparison) -> Table:
    """The entries that are farthest off, in a terminal the very farthest."""
    rows = comparison.farthest(_WORST)
    return Table(
        (
            Column("farthest entry", tuple(row.component for row in rows), left=True),
            Column("layer", tuple(str(row.layer) for row in rows)),
            Column("theory", digits((row.theory for row in rows), 6)),
            Column("measured", tuple(with_error(row.measured, row.standard_error) for row in rows)),
            Column("deviation", tuple(deviation(row.deviation, row.trustworthy) for row in rows)),
        ),
        lines=1,
    )
