"""A package whose names are loaded when they are first used: nobody waits for rooms that are not entered, nor for files of a
room that are not needed."""

import importlib
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from ._garbage import nothing_collected

_DISTRIBUTIONS = {"sklearn": ("scikit-learn", "finitewidth[sklearn]")}  # what may be missing, and how to get it


def offered(package: str, names: dict[str, str]) -> list[str]:
    """Make a package offer `names`, given for each module that they come from as it would be imported; `"."` offers modules. Its `__all__`.

    Type checkers read imports and no tables, so that the same stands under `if TYPE_CHECKING`.
    """
    module = sys.modules[package]
    sources = {name: place for place, words in names.items() for name in words.split()}
    module.__dict__["_sources"] = sources
    module.__class__ = _Package
    return list(sources)


class _Package(ModuleType):
    _sources: dict[str, str]  # for each name the module that it comes from; "." for a module itself

    def __getattr__(self, name: str) -> Any:
        if name not in self._sources:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        place = self._sources[name]
        try:
            with nothing_collected():
                loaded = importlib.import_module(f".{name}" if place == "." else place, self.__name__)
        except ModuleNotFoundError as error:
            known = _DISTRIBUTIONS.get((error.name or "").partition(".")[0])
            if known is None:
                raise
            raise ImportError(f"`{name}` needs {known[0]}: pip install '{known[1]}'") from error
        thing = loaded if place == "." else getattr(loaded, name)
        self.__dict__[name] = thing  # the next time it is at hand
        return thing

    def __setattr__(self, name: str, value: Any) -> None:
        # Python binds a file to its package when it is loaded: a function of the same name would be hidden by its own file.
        is_file_of_name = isinstance(value, ModuleType) and self._sources.get(name, ".") != "."
        if not is_file_of_name:
            super().__setattr__(name, value)

    def __dir__(self) -> Iterable[str]:
        return [*self._sources, *(name for name in super().__dir__() if name.startswith("__"))]
