"""Imports go down only: a room looks at the rooms below it and at nothing else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "finitewidth"

# From the ground up. Rooms on one floor do not import each other.
FLOORS = [
    {"gaussian"},
    {"activations"},
    {"networks"},
    {"flow", "proportional", "ensembles"},
    {"criticality"},
    {"learning", "information"},
    {"advice"},
    {"figures"},
    {"report"},
    {"cli", "app", "torch"},
]
FLOOR = {room: height for height, floor in enumerate(FLOORS) for room in floor}


def room_of(module: tuple[str, ...]) -> str | None:
    """The room of a dotted module inside the package; `None` for the package itself and its private modules."""
    return module[0] if module and not module[0].startswith("_") else None


def imported(source: str, package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Modules of finitewidth imported anywhere in `source`, a file that lies in `package`, relative to finitewidth."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (tuple(name.name.split(".")[1:]) for name in node.names if name.name.startswith("finitewidth."))
        elif isinstance(node, ast.ImportFrom):
            path = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                path = (*package[: len(package) - node.level + 1], *path)
            elif path[:1] == ("finitewidth",):
                path = path[1:]
            else:
                continue
            yield from [path] if path else [(name.name,) for name in node.names]


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
    targets = {room_of(module) for module in imported(source, package)} - {None}
    return sorted(reason for target in targets if (reason := violation(room, target)))


FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=str)
def test_imports_go_down_only(file):
    if file == Path("__init__.py"):
        return  # the package's own front door may look at every room
    room = room_of((*file.parts[:-1], file.stem))
    source = (PACKAGE / file).read_text("utf-8")
    if room is None:
        assert [room_of(module) for module in imported(source, file.parts[:-1]) if room_of(module)] == []
        return
    assert room in FLOOR, f"{file} is in no known room"
    assert complaints(source, file.parts[:-1], room) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from ..gaussian import expectation", []),
        ("from .._errors import DomainError", []),
        ("from . import kernel\nfrom .kernel import step", []),
        ("import jax\nfrom jax import numpy", []),
        ("from ..ensembles.chain import x", ["flow and ensembles are on one floor"]),
        ("from finitewidth.criticality import x", ["criticality is above flow"]),
        ("from .. import criticality", ["criticality is above flow"]),
        ("import finitewidth.report.html", ["report is above flow"]),
        ("def f():\n    from ..cli import main", ["cli is above flow"]),
        ("from ..basement import x", ["basement is not a room"]),
    ],
)
def test_the_rule_itself(source, expected):
    assert complaints(source, ("flow",), "flow") == expected
