"""A package whose names are loaded when they are first used: nobody waits for rooms that are not entered."""

import ast
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any


def offered(package: str) -> tuple[Callable[[str], Any], list[str]]:
    """`__getattr__` and `__all__` of a package, from the imports that its source makes for type checkers alone."""
    module = sys.modules[package]
    sources = dict(_imports(inspect.getsource(module)))

    def load(name: str) -> Any:
        if name not in sources:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        room = sources[name]
        of_room = importlib.import_module(f".{room or name}", package)
        thing = getattr(of_room, name) if room else of_room
        setattr(module, name, thing)  # the next time it is at hand
        return thing

    return load, list(sources)


def _imports(source: str) -> list[tuple[str, str | None]]:
    """The names imported under `if TYPE_CHECKING`, each with the module that it comes from; none for a module itself."""
    guarded = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for block in guarded for node in block.body if isinstance(node, ast.ImportFrom)]
    return [(name.name, node.module) for node in imports for name in node.names]
