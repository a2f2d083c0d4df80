"""What all reports have in common: sections, and three ways to read them."""

import json
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._result import Result
from .._table import Table
from .section import Section

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, eq=False, repr=False)
class Document(Result):
    """A report. Print it, or ask for `to_json()`, `to_html()` or its `data`.

    `head` says what it is about, `foot` what made it; `sections` are read in between.
    """

    kind: ClassVar[str] = "report"
    """What it calls itself at its head."""

    head: Section
    sections: tuple[Section, ...]
    foot: Section

    @property
    def data(self) -> dict[str, Any]:
        """All of it in types that JSON knows, by section: what made it, what it is about, what there is to say."""
        return {section.name: section.data for section in (self.foot, self.head, *self.sections)}

    def to_json(self) -> str:
        """The data as JSON."""
        return json.dumps(self.data, indent=2, allow_nan=False)

    def to_html(self) -> str:
        """A page that needs nothing but itself."""
        from .html import page

        return page(self.kind, self.head, self.sections, self.foot)

    def __rich__(self) -> "RenderableType":
        from .terminal import whole

        return whole(self.kind, self.head, self.sections, self.foot)

    def __str__(self) -> str:
        from .terminal import as_text

        return as_text(self.__rich__())

    def table(self) -> Table:
        """What to see first of each section."""
        facts = [(section.title, fact.label, fact.value) for section in self.sections for fact in section.facts]
        section, label, value = (np.array(column, dtype=object) for column in zip(*facts, strict=True))
        return Table({self.kind: self.head.title}, {"section": section, "what": label, "value": value})

    def _repr_html_(self) -> str:
        """The page, in a frame of its own so that its style stays inside."""
        return f'<iframe srcdoc="{escape(self.to_html())}" width="100%" height="640" style="border: 0"></iframe>'
