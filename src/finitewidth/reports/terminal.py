"""Documents and their parts for a terminal: words and tables fit into it, code is left as it is, to be copied."""

import io
from collections.abc import Iterable, Iterator

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.constrain import Constrain
from rich.padding import Padding
from rich.panel import Panel
from rich.segment import Segment
from rich.style import Style
from rich.styled import Styled
from rich.table import Table as Grid
from rich.text import Text

from .section import Bars, Cell, Code, Details, Drawing, Fact, Part, Section, Sparkline, Table, Tone, Words
from .strokes import bar, sparks

WIDTH = 88
"""Of a report, in columns."""
_STYLES = {
    Tone.PLAIN: "",
    Tone.STRONG: "bold",
    Tone.SOFT: "dim",
    Tone.GOOD: "green",
    Tone.RISKY: "yellow",
    Tone.BAD: "bold red",
    Tone.CHOSEN: "bold green",
}
_LABEL = 25  # columns, so that sparklines stand below one another
_INDENT = 2
_CODE = Style.parse("cyan")


class _Verbatim:
    """Lines that are longer than a narrow terminal, which breaks them as it likes: a line that rich crops cannot be run."""

    def __init__(self, code: str):
        self.code = code

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        yield Segment.line()
        for line in self.code.splitlines():
            yield Segment(" " * 2 * _INDENT)
            yield Segment(line, _CODE)
            yield Segment.line()
        yield Segment.line()


def show(renderable: RenderableType) -> None:
    """Print to the terminal, or to a pipe, whatever its width."""
    Console().print(renderable, crop=False)


def as_text(renderable: RenderableType) -> str:
    """Plain text of what rich would print."""
    sink = io.StringIO()
    Console(file=sink, width=WIDTH, color_system=None, legacy_windows=False).print(renderable, crop=False)
    return "\n".join(line.rstrip() for line in sink.getvalue().rstrip().splitlines())


def whole(kind: str, head: Section, sections: Iterable[Section], foot: Section) -> RenderableType:
    """A document, section by section."""
    about = Styled(Group(*_shown(head.parts)), "bold")
    panel = Panel(about, title=f"finitewidth {kind}: {head.title}", width=WIDTH, border_style="blue")
    return Group(panel, *(_section(section) for section in (*sections, foot) if section.parts))


def stacked(parts: Iterable[Part]) -> RenderableType:
    """Parts below one another."""
    return Group(*_spaced(_shown(parts)))


def _section(section: Section) -> RenderableType:
    facts = [_facts(section.facts)] if section.facts else []
    content = _spaced([*facts, *_shown(section.parts)])
    heading = Text(f"\n{section.title}", style="bold blue")
    return Group(heading, *(part if isinstance(part, _Verbatim) else _indented(part) for part in content))


def _indented(part: RenderableType) -> RenderableType:
    return Padding(part, (0, 0, 0, _INDENT), expand=False)


def _spaced(shown: Iterable[RenderableType]) -> Iterator[RenderableType]:
    """A table stands apart from what is above and below it."""
    above = None
    for part in shown:
        if above is not None and (_stands_apart(above) or _stands_apart(part)):
            yield ""
        yield part
        above = part


def _stands_apart(part: RenderableType) -> bool:
    return isinstance(part, Grid) and part.box is not None


def _shown(parts: Iterable[Part]) -> Iterator[RenderableType]:
    for part in parts:
        match part:
            case Words(text, tone):
                yield Constrain(Text(text, style=_STYLES[tone]), WIDTH - _INDENT)
            case Table():
                yield _table(part)
            case Sparkline(label, values):
                ends = f"{values[0]:.4g} to {values[-1]:.4g}"
                yield Text.assemble(f"{label:<{_LABEL}}  ", (sparks(values), "blue"), f"  {ends}")
            case Details(_, inner):
                yield from _shown(inner)
            case Code(text):
                yield _Verbatim(text)
            case Drawing():
                pass


def _facts(facts: tuple[Fact, ...]) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    for fact in facts:
        grid.add_row(Text(fact.label), Text(fact.value, style="bold"))
    return grid


def _table(table: Table) -> Grid:
    columns = [column for column in table.columns if isinstance(column, Bars) or not column.wide]
    title = Text(table.title) if table.title else None
    grid = Grid(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    drawn: list[list[RenderableType]] = []
    for column in columns:
        if isinstance(column, Bars):
            grid.add_column(Text(column.head))
            drawn.append([Text(bar(length), style="blue") for length in column.lengths])
        else:
            justify = "left" if column.left else "right"
            grid.add_column(Text(column.head), justify=justify, style=_STYLES[column.tone], vertical="bottom")
            drawn.append([_cell(cell) for cell in column.cells])
    rows = list(zip(*drawn, strict=True))
    for i in evenly(len(rows), table.lines or len(rows)):
        grid.add_row(*rows[i], style=_STYLES[table.tones[i]] if table.tones else None)
    return grid


def _cell(cell: Cell) -> RenderableType:
    return Text(cell.text, style=_STYLES[cell.tone]) if isinstance(cell, Words) else Text(cell)


def evenly(count: int, lines: int) -> list[int]:
    """Indices of the rows to show: all of a few, else evenly spaced with the first and the last."""
    if count <= lines:
        return list(range(count))
    return sorted({round(i * (count - 1) / max(1, lines - 1)) for i in range(lines)})
