"""The capability table names only public functions and tests that exist."""

from pathlib import Path

import pytest

import capabilities

REPOSITORY = Path(__file__).resolve().parents[2]
THIS_TEST = "tests/docs/test_capabilities.py::test_every_name_in_the_table_exists"


# Python's own modules stand in for the library, so that these tests test the checker alone.
def row(functions=(), tests=()):
    return capabilities.Capability("a thing", "(1.1)", list(functions), list(tests))


def test_every_name_in_the_table_exists():
    """Every function of the table can be reached from `import finitewidth`, or from a room that it names."""
    assert capabilities.problems(capabilities.read(), REPOSITORY) == []


def test_no_capability_is_listed_twice():
    for title, part in capabilities.read().items():
        names = [row.capability for row in part]
        assert len(set(names)) == len(names), title


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (row(["json.JSONDecoder.decode", "json.JSONDecoder", "concurrent.futures.Future"], [THIS_TEST]), None),
        (row(["json.Perceptron"]), "no public name json.Perceptron"),
        (row(["json.decoder.JSONDecoder"]), "no public name json.decoder.JSONDecoder"),  # through a file of the room
        (row(["xml.etree"]), "no public name xml.etree"),  # a room, not something in it
        (row(["json.no_room.thing"]), "no public name json.no_room.thing"),
        (row(["no_such_package.thing"]), "no public name no_such_package.thing"),
        (row(["json.JSONDecoder"], ["tests/none.py::test_x"]), "no test tests/none.py::test_x"),
        (row(["json.JSONDecoder"], [THIS_TEST + "_twice"]), "no test"),
        (row(["json.JSONDecoder"], ["tests/docs/test_capabilities.py"]), "no test"),
        (row(["json.JSONDecoder"], ["tests/docs/test_capabilities.py::row"]), "no test"),
        (row([], [THIS_TEST]), "has a test but no function"),
    ],
)
def test_a_name_that_leads_nowhere_is_reported(entry, complaint):
    found = capabilities.problems({"part": [entry]}, REPOSITORY)
    assert found == [] if complaint is None else [complaint in line for line in found] == [True]


def test_links_lead_to_the_definition_and_show_the_public_name():
    assert 'identifier="json.decoder.JSONDecoder.decode"><code>json.JSONDecoder.decode<' in capabilities.link(
        "json.JSONDecoder.decode"
    )


def test_the_pages_show_what_is_missing_and_what_has_no_test():
    """One page a part, and an overview that leads to it and counts."""
    done, untested, missing = row(["json.JSONDecoder"], [THIS_TEST]), row(["json.JSONDecoder"]), row()
    pages = capabilities.capability_pages({"One part (PDLT chapter 1)": [done, untested], "Another": [missing, done]})
    assert list(pages) == ["index.md", "one-part.md", "another.md"]
    assert "Of 4 rows 2 are done, 1 have no test and\n1 are missing." in pages["index.md"]
    assert "| [One part (PDLT chapter 1)](one-part.md) | 2 | 1 |" in pages["index.md"]
    assert [pages[name].count(">no test</strong>") for name in pages] == [0, 1, 0]
    assert [pages[name].count(">missing</strong>") for name in pages] == [0, 0, 1]


def test_no_two_parts_share_a_page():
    titles = list(capabilities.read())
    assert len({capabilities.part_page(title) for title in titles} | {"index.md"}) == len(titles) + 1
