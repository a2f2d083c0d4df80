"""The public names on the pages: what the package, its rooms and private modules offer, read from the tables that they load names by."""

import importlib
import re
from importlib.util import resolve_name
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "finitewidth"
MARK = re.compile(r"^<!-- api: (?P<place>[\w.]+) -->$", re.MULTILINE)


def _table(package: str) -> dict[str, str]:
    """For each name that a package offers the module that it comes from, as it would be imported; empty for a package without a table."""
    return dict(vars(importlib.import_module(package)).get("_sources", {}))


def is_package(path: str) -> bool:
    """Whether a dotted path is a folder."""
    return PACKAGE.joinpath(*path.split(".")[1:]).is_dir()


def definition(package: str, name: str) -> str:
    """Where a name that a package offers is defined, followed through the packages that pass it on.

    The dotted path of a public name would not do: a room, a file in it and a function may share one name.
    """
    source = _table(package)[name]
    if source == ".":  # a room in the package
        return f"{package}.{name}"
    module = resolve_name(source, package)
    return definition(module, name) if is_package(module) else f"{module}.{name}"


def offered(place: str) -> dict[str, str]:
    """Public names and where they are defined: of a room, or of a private module those that the package takes from it; no rooms."""
    room = f"finitewidth.{place}"
    package = room if is_package(room) else "finitewidth"
    names = [name for name, source in _table(package).items() if package == room or source == f".{place}"]
    found = {name: definition(package, name) for name in names}
    return {name: path for name, path in found.items() if not is_package(path)}


def directives(place: str) -> str:
    """What has mkdocstrings document the names of a place."""
    # Links to a name lead to its reference page, where its file is; so here it stays out of the inventory.
    options = "    options:\n      skip_local_inventory: true\n"
    return "\n".join(f"::: {path}\n{options}" for path in offered(place).values())


def undocumented(markdown: str, html: str) -> list[str]:
    """Of the names that a page's marks promise, those that its HTML does not show with a docstring."""
    promised = [path for mark in MARK.finditer(markdown) for path in offered(mark["place"]).values()]
    empty = [mark["place"] for mark in MARK.finditer(markdown) if not offered(mark["place"])]
    return empty + [path for path in promised if not _documented(path, html)]


def _documented(path: str, html: str) -> bool:
    """Whether a heading of a name is followed by words before the next one: by its docstring."""
    entry = re.search(rf'<h\d id="{re.escape(path)}".*?</h\d>(.*?)(?=<h\d id="finitewidth\.|\Z)', html, re.DOTALL)
    return (
        entry is not None
        and re.search(r'<div class="doc doc-contents[^"]*">\s*<(p|div|ul|table)\b', entry[1]) is not None
    )
