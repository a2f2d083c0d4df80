"""The capability table: what the library is to compute, the function that does and the test that checks it.

The rows are in `capabilities.toml`. A name that does not exist, or is not public,
fails the build; a row without a function is shown as
missing, so that what is not there yet stays visible.
"""

import ast
import importlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from equation_index import function_link

_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Capability:
    """One row of the table."""

    capability: str
    equations: str
    functions: list[str]
    tests: list[str]

    @property
    def status(self) -> str:
        """Missing without a function, no test without a test, else done."""
        return "done" if self.functions and self.tests else "no test" if self.functions else "missing"


def read(file: Path = _HERE / "capabilities.toml") -> dict[str, list[Capability]]:
    """The rows of every part, by the part's title."""
    parts = tomllib.loads(file.read_text("utf-8"))["part"]
    return {part["title"]: [Capability(**row) for row in part["row"]] for part in parts}


def public(path: str) -> object:
    """What a public name stands for: `package.X`, or `package.room.X` where the room's `__init__.py` offers X.

    Rooms may lie in rooms; behind a class its attributes follow. A file inside a room is nobody's business, so a path through
    one raises an `AttributeError`, as does a name that is not there.
    """
    package, *names = path.split(".")
    try:
        found: object = importlib.import_module(package)
    except ModuleNotFoundError:
        raise AttributeError(f"no package {package}") from None
    for position, name in enumerate(names):
        if isinstance(found, ModuleType) and not hasattr(found, name):
            _import_room(found, name)
        found = getattr(found, name)
        if isinstance(found, ModuleType) and not hasattr(found, "__path__"):
            raise AttributeError(f"{'.'.join([package, *names[: position + 1]])} is a file inside a room")
    if isinstance(found, ModuleType):
        raise AttributeError(f"{path} is a room")
    return found


def _import_room(parent: ModuleType, name: str) -> None:
    """Import a room inside another one, which nobody has looked into yet."""
    try:
        importlib.import_module(f"{parent.__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith(parent.__name__):
            raise  # the room is there, something that it needs is not


def is_public(path: str) -> bool:
    """Whether a dotted path is a public name."""
    try:
        public(path)
    except AttributeError:
        return False
    return True


def link(path: str) -> str:
    """A public name as a link to the place in the reference where it is defined."""
    found = public(path)
    defined = getattr(found, "__wrapped__", found.fget if isinstance(found, property) else found)
    if not hasattr(defined, "__qualname__"):  # a constant
        return function_link(path)
    return function_link(f"{defined.__module__}.{defined.__qualname__}", path)


def is_test(name: str, repository: Path) -> bool:
    """Whether `file::function` or `file::Class::function` is a test in the repository."""
    file, *trail = name.split("::")
    if not trail or not (repository / file).is_file():
        return False
    body = ast.parse((repository / file).read_text("utf-8")).body
    for step in trail:
        named = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == step]
        if not named:
            return False
        body = named[-1].body
    return trail[-1].startswith("test")


def problems(table: dict[str, list[Capability]], repository: Path = _HERE.parent) -> list[str]:
    """Every name in the table that is not public or leads nowhere, and every test that is claimed for nothing."""
    found = []
    for row in (row for rows in table.values() for row in rows):
        found += [f"{row.capability}: no public name {name}" for name in row.functions if not is_public(name)]
        found += [f"{row.capability}: no test {name}" for name in row.tests if not is_test(name, repository)]
        if row.tests and not row.functions:
            found.append(f"{row.capability}: has a test but no function")
    return found


def part_page(title: str) -> str:
    """Where the rows of a part stand, below the overview."""
    return re.sub(r"\W+", "-", title.partition(" (")[0].lower()).strip("-") + ".md"


def capability_pages(table: dict[str, list[Capability]]) -> dict[str, str]:
    """The table as Markdown: an overview, `index.md`, and a page for each part."""
    rows = [row for part in table.values() for row in part]
    counts = {status: sum(row.status == status for row in rows) for status in ("done", "no test", "missing")}
    overview = [
        "# Capabilities",
        "",
        "Everything the sources compute that this library is to compute, with the function that does it and the test",
        f"that checks it. Of {len(rows)} rows {counts['done']} are done, {counts['no test']} have no test and",
        f"{counts['missing']} are missing.",
        "",
        "| part | rows | done |",
        "|---|---|---|",
    ]
    pages = {}
    for title, part in table.items():
        done = sum(row.status == "done" for row in part)
        overview.append(f"| [{title}]({part_page(title)}) | {len(part)} | {done} |")
        lines = [f"# {title}", "", f"{done} of {len(part)} done.", "", '<div class="wide" markdown>', ""]
        lines += ["| capability | equations | function | test |", "|---|---|---|---|"]
        for row in part:
            code = "<br>".join(map(link, row.functions)) or '<strong class="missing">missing</strong>'
            test = "<br>".join(f"`{name}`" for name in row.tests)
            if row.status == "no test":
                test = '<strong class="missing">no test</strong>'
            lines.append(f"| {row.capability} | {row.equations} | {code} | {test} |")
        pages[part_page(title)] = "\n".join([*lines, "", "</div>", ""])
    return {"index.md": "\n".join(overview) + "\n"} | pages
