"""A document as one HTML page that needs nothing but itself: style and pictures are inside, nothing is fetched."""

from collections.abc import Iterable
from html import escape
from importlib.resources import files
from string import Template

from .section import Bars, Cell, Code, Column, Details, Drawing, Fact, Part, Section, Sparkline, Table, Words
from .svg import svg


def page(kind: str, head: Section, sections: Iterable[Section], foot: Section) -> str:
    """The page: what it is about, the facts on cards, and section by section what there is to say."""
    shown = [section for section in (*sections, foot) if section.parts]
    facts = [fact for section in shown for fact in section.facts]
    about = f'<div class="soft">{_parts(head.parts)}</div>\n'
    body = about + _cards(facts) + "".join(map(_section, shown))
    title = escape(f"finitewidth {kind}: {head.title}")
    return Template(_file("frame.html")).substitute(title=title, style=_file("page.css"), body=body)


def _file(name: str) -> str:
    return files("finitewidth.reports").joinpath(name).read_text("utf-8")


def _cards(facts: list[Fact]) -> str:
    cards = (f"<div><b>{escape(fact.value)}</b>{escape(fact.label)}</div>\n" for fact in facts)
    return f'<div class="cards">\n{"".join(cards)}</div>\n' if facts else ""


def _section(section: Section) -> str:
    return f"<h2>{escape(section.title)}</h2>\n{_parts(section.parts)}"


def _parts(parts: Iterable[Part]) -> str:
    return "".join(map(_part, parts))


def _part(part: Part) -> str:
    match part:
        case Words():
            return f"<p{_classes(part.tone)}>{escape(part.text)}</p>\n"
        case Table():
            note = f'<p class="soft">{escape(part.note)}</p>\n' if part.note else ""
            return f'<div class="scroll">{_table(part)}</div>\n{note}'
        case Drawing():
            return f'<figure><div class="panels">{svg(part)}</div><figcaption>{escape(part.caption)}</figcaption></figure>\n'
        case Details():
            return f"<details><summary>{escape(part.summary)}</summary>\n{_parts(part.parts)}</details>\n"
        case Code():
            return f"<pre><code>{escape(part.text)}</code></pre>\n"
        case Sparkline():
            return ""


def _table(table: Table) -> str:
    columns = [column for column in table.columns if not isinstance(column, Bars)]
    title = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    heads = "".join(f"<th{_classes(_side(column))}>{escape(column.head)}</th>" for column in columns)
    cells = [_cells(column) for column in columns]
    tones = table.tones or [""] * len(cells[0])
    rows = (f"<tr{_classes(tone)}>{''.join(row)}</tr>\n" for tone, *row in zip(tones, *cells, strict=True))
    return f"<table>{title}<thead><tr>{heads}</tr></thead><tbody>\n{''.join(rows)}</tbody></table>"


def _cells(column: Column) -> list[str]:
    def written(cell: Cell) -> str:
        words = cell if isinstance(cell, Words) else Words(cell)
        return f"<td{_classes(_side(column), column.tone, words.tone)}>{escape(words.text)}</td>"

    return [written(cell) for cell in (column.cells if column.page is None else column.page)]


def _side(column: Column) -> str:
    """Words stand on the left, and wrap where there are many."""
    return ("left words" if column.wide else "left") if column.left else ""


def _classes(*names: str) -> str:
    """The attribute, if there is something to say."""
    said = " ".join(name for name in names if name)
    return f' class="{said}"' if said else ""
