"""Every public name is on a page, with words; and there is one list of rooms."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import api
import house

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
PLACES = [mark["place"] for page in sorted(DOCS.rglob("*.md")) for mark in api.MARK.finditer(page.read_text("utf-8"))]


def tables():
    """Of every package that has one, whether a room offers it or not: for each public name where it is defined."""
    for file in sorted(api.PACKAGE.rglob("__init__.py")):
        package = ".".join(file.relative_to(api.PACKAGE.parent).parts[:-1])
        names = vars(importlib.import_module(package)).get("_sources", {})
        found = {name: api.definition(package, name) for name in names}
        yield package, {name: path for name, path in found.items() if not api.is_package(path)}


def words_about(path):
    """The docstring of a function, a class, or a constant that a string follows; `None` without one."""
    module, _, name = path.rpartition(".")
    body = ast.parse(api.PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py").read_text("utf-8")).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name and (said := ast.get_docstring(node)):
            return said
        target = node.target if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [None])[0]
        if (
            getattr(target, "id", None) == name
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            return after.value.value
    return None


def test_every_public_name_is_on_a_page_with_words():
    on_pages = {path for place in PLACES for path in api.offered(place).values()}
    public = {path for _, table in tables() for path in table.values()}
    assert len(public) > 400
    assert public - on_pages == set()
    assert [path for path in sorted(on_pages) if not words_about(path)] == []


def test_no_page_asks_for_the_names_of_a_place_that_offers_none():
    assert [place for place in PLACES if not api.offered(place)] == []
    assert len(PLACES) == len(set(PLACES))


def test_a_room_that_offers_names_shows_them_on_its_own_page():
    offering = [package.partition(".")[2] for package, table in tables() if table and package.count(".") == 1]
    assert len(offering) >= 16
    assert [
        room for room in offering if f"<!-- api: {room} -->" not in (DOCS / f"rooms/{room}.md").read_text("utf-8")
    ] == []


def test_a_name_is_followed_to_its_definition():
    """Through rooms in rooms, and where a function has the name of its file."""
    assert api.offered("learning")["predict"] == "finitewidth.learning.kernel.predict.predict"
    assert api.offered("_files") == {name: f"finitewidth._files.{name}" for name in ("load", "save")}
    assert "shaped" not in api.offered("networks")


HEADING = '<h3 id="finitewidth._files.{}" class="doc">{}</h3>'
WORDS = '<div class="doc doc-contents "><p>Words.</p></div>'


def test_a_page_without_its_names_is_found():
    """One that is missing, one without words, and a place that offers nothing."""
    page = "# Page\n\n<!-- api: _files -->\n"
    load, save = (HEADING.format(name, name) for name in ("load", "save"))
    assert api.undocumented(page, load + WORDS + save + WORDS) == []
    assert api.undocumented(page, load + WORDS) == ["finitewidth._files.save"]
    assert api.undocumented(page, load + save + WORDS) == ["finitewidth._files.load"]
    assert api.undocumented("<!-- api: runs -->\n", "") == ["runs"]
    assert api.directives("_files").count("::: finitewidth._files.") == 2


def test_the_list_of_rooms_is_that_of_the_package():
    folders = {file.parent.name for file in api.PACKAGE.glob("*/__init__.py")}
    assert set(house.ROOMS) == folders
    assert len(house.ROOMS) == len(folders)
    assert {page.stem for page in (DOCS / "rooms").glob("*.md")} == {*house.PAGES.values(), "index"}


def test_navigation_and_diagram_have_every_room():
    """And `mkdocs.yml` names none by hand."""
    assert house.navigation("reference") == [f"reference/{room}.md" for room in house.ROOMS]
    assert house.navigation("rooms") == [f"rooms/{room}.md" for room in house.ROOMS if room != "cli"]
    assert all(re.search(rf"^(.*  )?{room}  ", house.diagram(), re.MULTILINE) for room in house.ROOMS)
    assert not re.search(r"(rooms|reference)/(?!index)", (REPOSITORY / "mkdocs.yml").read_text("utf-8"))


def test_contributing_has_the_same_floors():
    text = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
    (line,) = re.findall(r"^`gaussian`.*(?:\n`.*)*", text, re.MULTILINE)
    assert [set(re.findall(r"\w+", floor)) for floor in line.split("<")] == [set(floor) for floor in house.FLOORS]


@pytest.mark.parametrize("place", ["gaussian", "networks.shaped", "_errors"])
def test_a_place_offers_what_users_reach(place):
    owner = importlib.import_module("finitewidth" if place.startswith("_") else f"finitewidth.{place}")
    for name, path in api.offered(place).items():
        thing = getattr(owner, name)
        defined = getattr(thing, "__wrapped__", thing)
        assert f"{defined.__module__}.{defined.__qualname__}" == path
