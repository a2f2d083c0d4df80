"""A result as one table, which a terminal, a notebook and a data frame show: facts, and columns of equal length."""

import dataclasses
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from html import escape
from typing import Any

import jax
import numpy as np

from ._errors import ArgumentError

_WIDTH = 88  # of a terminal
_CELL = 14
_TEXT_ROWS, _PAGE_ROWS = 7, 20
_TEXT_FACTS, _PAGE_COLUMNS = 12, 16
_LONGEST, _SENTENCE = 72, 240  # letters of a value, and of one that is words
_MOST_ENTRIES = 64  # of one row: larger tensors are told by their shape
_COUNTED_FROM_ONE = ("layer", "order")


@dataclass(frozen=True, eq=False)
class Table:
    """What there is to see of a result."""

    facts: dict[str, Any]
    """Said once: settings, verdicts, single numbers."""
    columns: dict[str, np.ndarray]
    """One entry for each row."""

    @property
    def rows(self) -> int:
        """How many there are."""
        return max((len(column) for column in self.columns.values()), default=0)


def values_of(thing: Any) -> dict[str, Any]:
    """The fields of a dataclass, of a module or of a named tuple, by name."""
    names = thing._fields if hasattr(thing, "_fields") else [field.name for field in dataclasses.fields(thing)]
    return {name: getattr(thing, name) for name in names}


def table_of(values: Mapping[str, Any], axes: tuple[str, ...]) -> Table:
    """The table of a result with these fields.

    Arrays that begin with the axes of the first one are columns, one for each entry of their other axes, `V[0,1]`, beside
    the indices along `axes`. Without arrays, a tuple of records makes the rows; else there is one row of all numbers. The
    rest are facts.
    """
    arrays: dict[str, np.ndarray] = {}
    facts: dict[str, Any] = {}
    for name, value in values.items():
        parts = value.as_columns(name) if hasattr(value, "as_columns") else {name: value}
        for part, content in parts.items():
            if _is_array(content) and np.ndim(content):
                arrays[part] = np.asarray(content)
            elif content is not None:
                facts[part] = np.asarray(content).item() if _is_array(content) else content
    if arrays:
        return _of_arrays(arrays, facts, axes)
    for name, value in facts.items():
        if isinstance(value, tuple | list) and value and all(_is_record(each) for each in value):
            rest = {other: fact for other, fact in facts.items() if other != name}
            return Table(rest, columns_of_records(value))
    single = {name: value for name, value in facts.items() if isinstance(value, bool | int | float | complex | str)}
    rest = {name: value for name, value in facts.items() if name not in single}
    return Table(rest, {name: np.array([str(v) if isinstance(v, Enum) else v]) for name, v in single.items()})


def columns_of_records(records: Iterable[Any]) -> dict[str, np.ndarray]:
    """One row for each of several records of one type."""
    rows = [values_of(record) for record in records]
    return {name: _column([row[name] for row in rows]) for name in (rows[0] if rows else ())}


def index_columns(axes: tuple[str, ...], shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """The indices of all rows along `axes`; layers and orders count from one."""
    places = np.indices(shape)
    return {name: part.ravel() + (name in _COUNTED_FROM_ONE) for name, part in zip(axes, places, strict=True)}


def entry_columns(name: str, array: np.ndarray, axes: int) -> dict[str, np.ndarray]:
    """A column for each entry of the axes after the first ones."""
    rest = array.shape[axes:]
    flat = array.reshape(int(np.prod(array.shape[:axes])), -1)
    labels = [f"{name}[{','.join(map(str, place))}]" for place in np.ndindex(*rest)] if rest else [name]
    return dict(zip(labels, flat.T, strict=True))


def table_of_paths(times: np.ndarray, values: Mapping[str, np.ndarray]) -> Table:
    """One row for each path and depth time, of values whose first axes are paths and times."""
    first = next(iter(values.values()))
    places = index_columns(("path", "time"), first.shape[:2])
    columns = {"path": places["path"], "time": np.asarray(times)[places["time"]]}
    for name, value in values.items():
        columns |= entry_columns(name, value, 2)
    return Table({}, columns)


def _of_arrays(arrays: dict[str, np.ndarray], facts: dict[str, Any], axes: tuple[str, ...]) -> Table:
    shape = next(iter(arrays.values())).shape[: len(axes)]
    axes = axes[: len(shape)]
    columns = index_columns(axes, shape)
    for name, array in arrays.items():
        if array.shape[: len(axes)] == shape and np.prod(array.shape[len(axes) :]) <= _MOST_ENTRIES:
            columns |= entry_columns(name, array, len(axes))
        else:
            facts = facts | {name: array}
    return Table(facts, columns)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic | jax.Array)


def _is_record(value: Any) -> bool:
    return hasattr(value, "_fields") or (dataclasses.is_dataclass(value) and not isinstance(value, type))


def _column(values: list[Any]) -> np.ndarray:
    plain = [str(value) if isinstance(value, Enum) else value for value in values]
    if all(isinstance(value, bool | int | float | str) for value in plain):
        return np.asarray(plain)
    column = np.empty(len(plain), dtype=object)
    column[:] = plain
    return column


def short(value: Any, longest: int = _LONGEST) -> str:
    """One value on one line."""
    if _is_array(value) and np.ndim(value):
        text = f"array {np.shape(value)}"
    elif isinstance(value, bool | np.bool_ | Enum):
        text = str(value)
    elif isinstance(value, float | np.floating):
        text = f"{float(value):.5g}"
    elif isinstance(value, tuple | list):
        text = f"({', '.join(map(short, value))})"
    elif isinstance(value, dict):
        text = ", ".join(f"{key}: {short(each)}" for key, each in value.items())
    else:
        text = " ".join(str(value).split()) if value is not None else "none"
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _fact(value: Any) -> str:
    return short(value, _SENTENCE if isinstance(value, str) else _LONGEST)


def as_text(name: str, table: Table) -> str:
    """For a terminal: facts, then a few rows and as many columns as fit."""
    facts = dict(table.facts)
    if table.rows == 1:
        facts = {key: column[0] for key, column in table.columns.items()} | facts
    told = [f"{key} = {_fact(value)}" for key, value in facts.items()]
    if len(told) > _TEXT_FACTS and table.rows != 1:
        told = [*told[:_TEXT_FACTS], "…"]
    size = f" of {table.rows} rows" if table.rows > 1 else ""
    head = f"{name}{size}" + (": " + ", ".join(told) if told else "")
    lines = textwrap.wrap(head, _WIDTH, subsequent_indent="  ", max_lines=12, placeholder=" …")
    return "\n".join(lines if table.rows <= 1 else [*lines, *_grid(table)])


def _grid(table: Table) -> list[str]:
    rows, names = _shown(table.rows, _TEXT_ROWS), list(table.columns)
    columns = {name: [name, *("…" if i is None else short(table.columns[name][i]) for i in rows)] for name in names}
    cells = {name: [cell[:_CELL].rjust(_width(column)) for cell in column] for name, column in columns.items()}
    ends = np.cumsum([_width(column) + 2 for column in columns.values()])
    fit = names[: max(1, int(np.searchsorted(ends, _WIDTH, side="right")))]
    lines = ["  " + "  ".join(line) for line in zip(*(cells[name] for name in fit), strict=True)]
    left = names[len(fit) :]
    more = textwrap.shorten(f"and {', '.join(left)}", _WIDTH - 2, placeholder=" …")
    return [*lines, *([f"  {more}"] if left else [])]


def _width(column: list[str]) -> int:
    return min(_CELL, max(map(len, column)))


def _shown(rows: int, most: int) -> list[int | None]:
    """The first and the last rows, and a gap between them if there are others."""
    if rows <= most:
        return list(range(rows))
    return [*range(most - 2), None, rows - 1]


def as_html(name: str, table: Table) -> str:
    """For a notebook: the same, with more rows and columns. A fragment that is well-formed XML."""
    facts = "".join(f"<tr><th>{escape(key)}</th><td>{escape(_fact(v))}</td></tr>" for key, v in table.facts.items())
    about = f"<table>{facts}</table>" if facts else ""
    names = list(table.columns)[:_PAGE_COLUMNS]
    left = len(table.columns) - len(names)
    heads = "".join(f"<th>{escape(each)}</th>" for each in names)
    body = "".join(
        "<tr>"
        + "".join(f"<td>{'…' if i is None else escape(short(table.columns[each][i]))}</td>" for each in names)
        + "</tr>"
        for i in _shown(table.rows, _PAGE_ROWS)
    )
    grid = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>" if names else ""
    size = f" of {table.rows} rows" if table.rows > 1 else ""
    more = f"<p>and {left} more columns: see to_dataframe()</p>" if left else ""
    return f"<div><p><b>{escape(name)}</b>{size}</p>{about}{grid}{more}</div>"


def as_dataframe(table: Table) -> Any:
    """A `pandas.DataFrame` of the columns; facts that are numbers or words are its `attrs`."""
    try:
        import pandas
    except ImportError:
        raise ArgumentError("pandas", "an environment without it", "`pip install 'finitewidth[notebook]'`") from None
    frame = pandas.DataFrame(table.columns)
    frame.attrs.update({name: fact for name, fact in table.facts.items() if isinstance(fact, bool | int | float | str)})
    return frame
