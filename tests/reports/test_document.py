"""A document made up by hand, with a part of every kind, in a terminal and on a page."""

import json

import pytest

from a_page import Page
from finitewidth.reports.document import Document
from finitewidth.reports.section import Bars, Column, Details, Drawing, Fact, Section, Sparkline, Table, Tone, Words
from finitewidth.reports.strokes import bar, sparks
from finitewidth.reports.terminal import evenly

LAYERS = tuple(str(layer) for layer in range(100, 200))

TABLE = Table(
    (
        Column("layer\nof many", LAYERS, left=True),
        Column("K", ("0.5",) * 100, ("0.5001",) * 100),
        Column("V", ("0.25",) * 100, wide=True),
        Column("verdict", (Words("doomed <b>", Tone.BAD), *("fine",) * 99), tone=Tone.SOFT),
        Bars("long", (1.0,) * 100),
    ),
    title="By layer [bold]",
    note="A note.",
    lines=5,
    tones=(Tone.CHOSEN, *(Tone.PLAIN,) * 99),
)

DOCUMENT = Document(
    Section("network", "a & b", {"n": 3}, (Words("About <it>."),)),
    (
        Section("first", "First", 1, (Words("A sentence."), Details("More", (TABLE,))), (Fact("ratio", "0.37"),)),
        Section("hidden", "Hidden", None),
        Section("second", "Second", [2], (Sparkline("curve", (0.0, 1.0)), Drawing("d", lambda _: None, "Caption."))),
    ),
    Section("meta", "Made", {"seed": 0}, (Words("With care.", Tone.SOFT),)),
)


@pytest.fixture(scope="module")
def source():
    return DOCUMENT.to_html()


def test_data_by_section():
    """What made it and what it is about first; what is not shown too."""
    data = json.loads(DOCUMENT.to_json())
    assert data == {"meta": {"seed": 0}, "network": {"n": 3}, "first": 1, "hidden": None, "second": [2]}
    assert list(data) == ["meta", "network", "first", "hidden", "second"]


def test_in_a_terminal():
    """Facts in their section, details at once, few lines of many, nothing wide, no drawings, no markup."""
    text = str(DOCUMENT)
    lines = text.splitlines()
    assert lines[0].strip("╭─╮ ") == "finitewidth report: a & b"
    assert [line for line in lines if line and line[0].isalpha()] == ["First", "Second", "Made"]
    assert "  ratio  0.37" in lines
    assert "By layer [bold]" in text
    assert [line.split()[0] for line in lines if "0.5 " in line] == ["100", "125", "150", "174", "199"]
    assert "doomed <b>" in text
    assert "  curve                      ▁█  0 to 1" in lines
    for left_out in ("Hidden", "More", "V", "0.25", "0.5001", "A note.", "Caption."):
        assert left_out not in text


def test_on_a_page(source):
    """Facts at the head, all lines, more digits, tones as classes; no bars and no sparklines."""
    page = Page()
    page.feed(source)
    page.close()
    assert page.open == []
    text = "".join(page.text)
    assert text.index("0.37") < text.index("A sentence.")
    assert [text.count(name) for name in ("0.5001", "0.25", "fine")] == [100, 100, 99]
    assert all(name in text for name in ("About <it>.", "doomed <b>", "By layer [bold]", "A note.", "Caption.", "More"))
    assert '<td class="soft bad">doomed' in source
    assert '<tr class="chosen"><td class="left">100<' in source
    assert not any(name in text for name in ("Hidden", "long", "curve", "▁"))
    assert page.tags.count("svg") == 2


def test_without_facts_there_are_no_cards(source):
    bare = Document(DOCUMENT.head, DOCUMENT.sections[1:], DOCUMENT.foot)
    assert '<div class="cards">' in source
    assert '<div class="cards">' not in bare.to_html()


def test_rows_shown():
    assert evenly(5, 12) == [0, 1, 2, 3, 4]
    assert evenly(100, 12)[0] == 0
    assert evenly(100, 12)[-1] == 99
    assert len(evenly(100, 12)) == 12
    assert evenly(5, 1) == [0]


def test_strokes():
    assert [bar(length) for length in (0.0, 1 / 36, 1.0, 2.0)] == ["", "▌", "█" * 18, "█" * 18]
    assert sparks([1.0, 1.0001, 1.0]) == "▅▅▅"
    assert sparks([0.0, 0.5, 1.0]) == "▁▅█"
    assert len(sparks(range(1000))) == 32
