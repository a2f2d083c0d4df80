"""What all reports have in common: plain data, and three ways to read it."""

import json
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, eq=False, repr=False)
class Document:
    """A report. `data` is all of it in types that JSON knows; print it, or ask for `to_json()` or `to_html()`."""

    data: dict[str, Any]

    def to_json(self) -> str:
        """The data as JSON."""
        return json.dumps(self.data, indent=2, allow_nan=False)

    @abstractmethod
    def to_html(self) -> str:
        """A page that needs nothing but itself."""

    @abstractmethod
    def __rich__(self) -> "RenderableType": ...

    def __str__(self) -> str:
        from .terminal import as_text

        return as_text(self.__rich__())

    def __repr__(self) -> str:
        return str(self)
