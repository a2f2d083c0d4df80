"""A package whose names are loaded when they are first used: nobody waits for rooms that are not entered, nor for files of a
room that are not needed."""

import ast
import importlib
import inspect
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from ._garbage import nothing_collected

_DISTRIBUTIONS = {"sklearn": ("scikit-learn", "finitewidth[sklearn]")}  # what may be missing, and how to get it


def offered(package: str) -> list[str]:
    """Make a package offer what its source imports for type checkers alone; its `__all__`."""
    module = sys.modules[package]
    sources = dict(_imports(inspect.getsource(module)))
    module.__dict__["_sources"] = sources
    module.__class__ = _Package
    return list(sources)


class _Package(ModuleType):
    _sources: dict[str, str | None]  # for each name the module that it comes from; none for a module itself

    def __getattr__(self, name: str) -> Any:
        if name not in self._sources:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        source = self._sources[name]
        try:
            with nothing_collected():
                loaded = importlib.import_module(source or f".{name}", self.__name__)
        except ModuleNotFoundError as error:
            known = _DISTRIBUTIONS.get((error.name or "").partition(".")[0])
            if known is None:
                raise
            raise ImportError(f"`{name}` needs {known[0]}: pip install '{known[1]}'") from error
        thing = getattr(loaded, name) if source else loaded
        self.__dict__[name] = thing  # the next time it is at hand
        return thing

    def __setattr__(self, name: str, value: Any) -> None:
        # Python binds a file to its package when it is loaded: a function of the same name would be hidden by its own file.
        is_file_of_name = isinstance(value, ModuleType) and self._sources.get(name) is not None
        if not is_file_of_name:
            super().__setattr__(name, value)

    def __dir__(self) -> Iterable[str]:
        return [*self._sources, *(name for name in super().__dir__() if name.startswith("__"))]


def _imports(source: str) -> list[tuple[str, str | None]]:
    """The names imported under `if TYPE_CHECKING`, each with the module that it comes from; none for a module itself."""
    guarded = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for block in guarded for node in block.body if isinstance(node, ast.ImportFrom)]
    return [(name.name, node.module and "." * node.level + node.module) for node in imports for name in node.names]
