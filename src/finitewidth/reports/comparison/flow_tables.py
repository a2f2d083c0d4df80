"""A comparison of flows as tables."""

from collections.abc import Sequence

from ..numbers import digits
from ..section import Column, Table, Tone, Words
from .rows import Row, Summary

FAR = 4.0
"""Standard errors beyond which a deviation is called one."""
_SIDE_BY_SIDE = 3  # quantities in one table of 88 columns; G, G1, V have the same layers, and so have the others


def deviation_tables(summary: Sequence[Summary], farthest: Sequence[Row]) -> tuple[Table, ...]:
    """Largest and typical deviation by layer and quantity, then the entries that are farthest off."""
    names = list(dict.fromkeys(line.quantity for line in summary))
    groups = [names[start : start + _SIDE_BY_SIDE] for start in range(0, len(names), _SIDE_BY_SIDE)]
    return *(_by_layer(summary, group) for group in groups), farthest_table(farthest)


def deviation(value: float, trustworthy: bool = True) -> Words:
    """A deviation with its sign, to be seen when it is far; nothing that could be held against theory if it cannot tell."""
    if not trustworthy:
        return Words("cannot tell", Tone.SOFT)
    return Words(f"{value:+.2f}" if value else "0", Tone.BAD if abs(value) > FAR else Tone.PLAIN)


def cannot_tell(silent: int, entries: int, method: str) -> str:
    """What is to be thought of entries whose standard errors cannot be trusted."""
    other = "" if method == "population" else ", or for G and V method='population',"
    return (
        f"{silent} of {entries} entries cannot tell: their means and standard errors are decided by a few networks, or, where "
        "networks differ as much as theory says, by networks too rare to be among those drawn. They count neither for nor against theory. "
        f"More networks{other} or larger widths can tell."
    )


def _by_layer(summary: Sequence[Summary], names: Sequence[str]) -> Table:
    """One line a layer: largest deviation, what noise alone would give, root mean square."""
    found = {name: [line for line in summary if line.quantity == name] for name in names}
    layers = tuple(str(line.layer) for line in found[names[0]])
    columns = [Column("layer", layers)]
    for name, lines in found.items():
        columns += [
            Column(f"{name} ({max(line.entries for line in lines)}):\nmax", tuple(_largest(line) for line in lines)),
            Column("noise", tuple(_told(line, line.expected_largest) for line in lines), tone=Tone.SOFT),
            Column("rms", tuple(_told(line, line.rms) for line in lines)),
        ]
    return Table(tuple(columns), title="Deviations in standard errors")


def _largest(line: Summary) -> Words:
    return Words(_told(line, line.largest), Tone.BAD if line.largest > FAR else Tone.PLAIN)


def _told(line: Summary, value: float) -> str:
    """A figure, or a question mark where no entry can tell."""
    return "?" if line.cannot_tell == line.entries else f"{value:.2f}"


def farthest_table(rows: Sequence[Row]) -> Table:
    """The entries that are farthest off."""
    return Table(
        (
            Column("entry", tuple(row.component for row in rows), left=True),
            Column("layer", tuple(str(row.layer) for row in rows)),
            Column("theory", digits((row.theory for row in rows), 6)),
            Column("measured", digits((row.measured for row in rows), 6)),
            Column("± error", digits((row.standard_error for row in rows), 2)),
            Column("deviation", tuple(deviation(row.deviation, row.trustworthy) for row in rows)),
        ),
        title="Farthest entries",
    )
