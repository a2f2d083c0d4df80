"""What a report is made of: sections, and the few kinds of parts that every medium knows how to show.

A section says what there is; how it looks is the business of `terminal` and of `html`, which know parts and no
quantities. A page has room: wide columns and drawings are for it alone. A terminal has sparklines and bars instead.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Tone(StrEnum):
    """How words are meant. The values are the classes of a page's style."""

    PLAIN = ""
    STRONG = "strong"
    SOFT = "soft"
    GOOD = "good"
    RISKY = "risky"
    BAD = "bad"
    CHOSEN = "chosen"


@dataclass(frozen=True)
class Words:
    """A paragraph, or a cell of a table that is to be seen."""

    text: str
    tone: Tone = Tone.PLAIN


Cell = str | Words

BY_LAYER = 12
"""Lines of a table by layer, which a terminal should show at a glance."""


@dataclass(frozen=True)
class Column:
    """One quantity of a table, from top to bottom."""

    head: str
    """A line break in it keeps the column narrow in a terminal."""
    cells: tuple[Cell, ...]
    page: tuple[Cell, ...] | None = None
    """Other cells for a page, which has room for more digits."""
    left: bool = False
    wide: bool = False
    """Only a page has room for it."""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Bars:
    """A column of bars for a terminal; the longest has length one."""

    head: str
    lengths: tuple[float, ...]


@dataclass(frozen=True)
class Table:
    """Columns side by side."""

    columns: tuple[Column | Bars, ...]
    title: str = ""
    note: str = ""
    """Stands below the table on a page."""
    lines: int | None = None
    """So many rows at most are shown in a terminal: the first, the last and others evenly between."""
    tones: tuple[Tone, ...] = ()
    """Of the rows; none for plain ones."""


@dataclass(frozen=True)
class Sparkline:
    """How a number runs through the layers at a glance, for a terminal."""

    label: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Drawing:
    """A picture for a page; `draw` is given two axes. Drawings of one page have different names."""

    name: str
    draw: Callable[[Any], object]
    caption: str


@dataclass(frozen=True)
class Details:
    """What a page shows when asked; a terminal, which cannot fold, shows it at once."""

    summary: str
    parts: "tuple[Part, ...]"


@dataclass(frozen=True)
class Code:
    """Lines to copy."""

    text: str


Part = Words | Table | Sparkline | Drawing | Details | Code


@dataclass(frozen=True)
class Fact:
    """What to see first of a section: on a card at the head of a page, at the head of the section in a terminal."""

    label: str
    value: str


@dataclass(frozen=True)
class Section:
    """One subject of a report. Without parts it is data alone, and is not shown."""

    name: str
    """The key of its data."""
    title: str
    data: Any
    """In types that JSON knows."""
    parts: tuple[Part, ...] = ()
    facts: tuple[Fact, ...] = ()
