"""Imports go down only: a room looks at the rooms below it and at nothing else, and no files import each other in a circle."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import house

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "finitewidth"

FLOOR = {room: height for height, floor in enumerate(house.FLOORS) for room in floor}


def room_of(module: tuple[str, ...]) -> str | None:
    """The room of a dotted module inside the package; `None` for the package itself and its private modules."""
    return module[0] if module and not module[0].startswith("_") else None


def imported(source: str, package: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """What of finitewidth is imported anywhere in `source`, a file that lies in `package`: modules relative to finitewidth,
    each with the names that are taken from it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((tuple(n.name.split(".")[1:]), ()) for n in node.names if n.name.startswith("finitewidth."))
        elif isinstance(node, ast.ImportFrom):
            path = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                path = (*package[: len(package) - node.level + 1], *path)
            elif path[:1] == ("finitewidth",):
                path = path[1:]
            else:
                continue
            yield path, tuple(name.name for name in node.names)


def rooms_imported(source: str, package: tuple[str, ...]) -> set[str]:
    found = set()
    for path, names in imported(source, package):
        found |= {room_of(module) for module in ([path] if path else [(name,) for name in names])}
    return found - {None}


def violation(importer: str, target: str) -> str | None:
    """Why a file of room `importer` may not import room `target`, if it may not."""
    if importer == target:
        return None
    if target not in FLOOR:
        return f"{target} is not a room"
    if FLOOR[target] == FLOOR[importer]:
        return f"{importer} and {target} are on one floor"
    return f"{target} is above {importer}" if FLOOR[target] > FLOOR[importer] else None


def complaints(source: str, package: tuple[str, ...], room: str) -> list[str]:
    targets = rooms_imported(source, package)
    return sorted(reason for target in targets if (reason := violation(room, target)))


FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
SOURCES = {file: (PACKAGE / file).read_text("utf-8") for file in FILES}


def rooms_of_files() -> dict[Path, str | None]:
    """The room of every file but the package's own front door, which may look at every room."""
    return {file: room_of((*file.parts[:-1], file.stem)) for file in FILES if file != Path("__init__.py")}


def test_every_file_is_in_a_known_room():
    lost = [f"{file}: no room {room}" for file, room in rooms_of_files().items() if room not in {None, *FLOOR}]
    assert not lost, "\n".join(["add the room to FLOORS, or move:", *lost])


def test_imports_go_down_only():
    wrong = [
        f"{file}: {complaint}"
        for file, room in rooms_of_files().items()
        if room in FLOOR
        for complaint in complaints(SOURCES[file], file.parts[:-1], room)
    ]
    assert not wrong, "\n".join(["imports go down only:", *wrong])


def test_private_modules_import_no_room():
    wrong = [
        f"{file}: imports {room}"
        for file, own in rooms_of_files().items()
        if own is None
        for room in sorted(rooms_imported(SOURCES[file], file.parts[:-1]))
    ]
    assert not wrong, "\n".join(["private modules at the top import no room:", *wrong])


def test_the_rule_itself():
    cases = {
        "from ..gaussian import expectation": [],
        "from .._errors import DomainError": [],
        "from . import kernel\nfrom .kernel import step": [],
        "import jax\nfrom jax import numpy": [],
        "from ..ensembles.chain import x": ["expansion and ensembles are on one floor"],
        "from finitewidth.critical import x": ["critical is above expansion"],
        "from .. import critical": ["critical is above expansion"],
        "import finitewidth.reports.html": ["reports is above expansion"],
        "def f():\n    from ..cli import main": ["cli is above expansion"],
        "from ..basement import x": ["basement is not a room"],
    }
    assert {source: complaints(source, ("expansion",), "expansion") for source in cases} == cases


class WithoutTypeChecking(ast.NodeTransformer):
    """Takes out what only a type checker imports."""

    def visit_If(self, node):
        self.generic_visit(node)
        if "TYPE_CHECKING" in ast.unparse(node.test):
            return node.orelse or ast.Pass()
        return node


def module_graph(files: dict[Path, str]) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """For every module the modules it imports when it runs, inside functions too; a package is its `__init__.py`, and the names that
    a room offers are loaded through it, from the files that its source names for type checkers."""

    def module(file: Path) -> tuple[str, ...]:
        return file.parts[:-1] if file.stem == "__init__" else (*file.parts[:-1], file.stem)

    modules = {module(file) for file in files}
    graph = {}
    for file, source in files.items():
        is_room = file.stem == "__init__" and len(file.parts) > 1
        run = source if is_room else ast.unparse(WithoutTypeChecking().visit(ast.parse(source)))
        targets = set()
        for path, names in imported(run, file.parts[:-1]):
            inside = {(*path, name) for name in names} & modules
            # `from . import x` of a module x does not need the package itself, anything else in the list does.
            targets |= inside if len(inside) == len(names) > 0 else inside | {path}
        graph[module(file)] = targets & modules
    return graph


def cycles(graph: dict[tuple[str, ...], set[tuple[str, ...]]]) -> list[list[str]]:
    """Groups of modules that can all reach each other."""

    def reachable(start):
        seen, ahead = set(), [start]
        while ahead:
            for target in graph[ahead.pop()] - seen:
                seen.add(target)
                ahead.append(target)
        return seen

    reach = {module: reachable(module) for module in graph}
    found = {frozenset(other for other in reach[m] if m in reach[other]) for m in graph if m in reach[m]}
    return sorted(sorted(".".join(module) for module in group) for group in found)


def test_no_files_import_each_other_in_a_circle():
    assert cycles(module_graph(SOURCES)) == []


@pytest.mark.parametrize("room", ["from .a import public", "if TYPE_CHECKING:\n    from .a import public"])
def test_circles_are_found(room):
    cases = {
        ("from .b import x", ""): [],
        ("from .b import x", "from .a import y"): [["room.a", "room.b"]],
        ("from . import b", "from . import a"): [["room.a", "room.b"]],
        ("def f():\n    from .b import x", "import finitewidth.room.a"): [["room.a", "room.b"]],
        ("if TYPE_CHECKING:\n    from .b import x", "from .a import y"): [],
        ("from ..room import public", ""): [["room", "room.a"]],
    }
    names = [Path("room") / name for name in ("__init__.py", "a.py", "b.py")]
    found = {case: cycles(module_graph(dict(zip(names, (room, *case), strict=True)))) for case in cases}
    assert found == cases
