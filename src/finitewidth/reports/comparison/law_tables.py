"""One law, and two laid over one another, as tables."""

from ...results import CovarianceLaw
from ..section import Column, Part, Table, Tone, Words
from .law import LEVELS, LawRow, entries, quantiles

_UNLIKELY = 1e-3


def law_parts(law: CovarianceLaw) -> tuple[Part, ...]:
    """Quantiles of every entry of one law."""
    found = {name: quantiles(values) for name, values in entries(law).items()}
    columns = [Column("entry", tuple(found), left=True)]
    for level, column in zip(LEVELS, zip(*found.values(), strict=True), strict=True):
        columns.append(Column(f"{level:.0%}", tuple(f"{q:.4f}" for q in column)))
    return _depth(law), Words(_title(law)), Table(tuple(columns))


def comparison_parts(first: CovarianceLaw, second: CovarianceLaw, rows: tuple[LawRow, ...]) -> tuple[Part, ...]:
    """Medians, central ranges and distances, entry by entry."""
    heads = Words(f"first: {_title(first)}"), Words(f"second: {_title(second)}")
    return _depth(first), *heads, rows_table(rows)


def rows_table(rows: tuple[LawRow, ...]) -> Table:
    """Medians, central ranges and distances as a table."""
    columns = [Column("entry", tuple(row.entry for row in rows), left=True)]
    for name, of in (("first", [row.first for row in rows]), ("second", [row.second for row in rows])):
        for head, i in ((f"{name} 5%", 0), ("median", 2), ("95%", 4)):
            columns.append(Column(head, tuple(f"{levels[i]:.3f}" for levels in of)))
    columns.append(Column("KS", tuple(f"{row.distance:.4f}" for row in rows)))
    columns.append(Column("p", tuple(_p_value(row.p_value) for row in rows)))
    return Table(tuple(columns))


def _p_value(p: float) -> Words:
    return Words(f"{p:.2g}", Tone.BAD if p < _UNLIKELY else Tone.PLAIN)


def _depth(law: CovarianceLaw) -> Words:
    return Words(f"At depth over width {law.depth_to_width:.4g}", Tone.STRONG)


def _title(law: CovarianceLaw) -> str:
    """A law in one line."""
    what = f"limit, {law.method} steps" if law.width is None else f"networks, n = {law.width}, {law.method}"
    stopped = f", {law.stopped_fraction:.1%} stopped" if law.stopped_fraction else ""
    return f"{what} ({law.paths} paths{stopped})"
