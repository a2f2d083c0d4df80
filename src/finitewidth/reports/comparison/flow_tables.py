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
    return *(_by_layer(summary, group) for group in groups), _farthest(farthest)


def deviation(value: float) -> Words:
    """A deviation with its sign, to be seen when it is far."""
    return Words(f"{value:+.2f}" if value else "0", Tone.BAD if abs(value) > FAR else Tone.PLAIN)


def _by_layer(summary: Sequence[Summary], names: Sequence[str]) -> Table:
    """One line a layer: largest deviation, what noise alone would give, root mean square."""
    found = {name: [line for line in summary if line.quantity == name] for name in names}
    layers = tuple(str(line.layer) for line in found[names[0]])
    columns = [Column("layer", layers)]
    for name, lines in found.items():
        largest = tuple(Words(f"{line.largest:.2f}", Tone.BAD if line.largest > FAR else Tone.PLAIN) for line in lines)
        columns += [
            Column(f"{name} ({max(line.entries for line in lines)}):\nmax", largest),
            Column("noise", tuple(f"{line.expected_largest:.2f}" for line in lines), tone=Tone.SOFT),
            Column("rms", tuple(f"{line.rms:.2f}" for line in lines)),
        ]
    return Table(tuple(columns), title="Deviations in standard errors")


def _farthest(rows: Sequence[Row]) -> Table:
    return Table(
        (
            Column("entry", tuple(row.component for row in rows), left=True),
            Column("layer", tuple(str(row.layer) for row in rows)),
            Column("theory", digits((row.theory for row in rows), 6)),
            Column("measured", digits((row.measured for row in rows), 6)),
            Column("± error", digits((row.standard_error for row in rows), 2)),
            Column("deviation", tuple(deviation(row.deviation) for row in rows)),
        ),
        title="Farthest entries",
    )
