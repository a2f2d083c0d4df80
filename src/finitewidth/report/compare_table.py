"""A comparison as a table for a terminal."""

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from .compare import Comparison, Row

FAR = 4.0
"""Standard errors beyond which a deviation is called one."""
_WORST = 5
_SIDE_BY_SIDE = 3  # quantities in one table of 88 columns; K, G1, V have the same layers, and so have the others


def renderable(comparison: "Comparison") -> RenderableType:
    """Largest and typical deviation by layer and quantity, then the entries that are farthest off."""
    head = f"Theory against {comparison.networks} networks (method {comparison.method}, seed {comparison.seed})"
    return Group(
        Text(head, style="bold"),
        Text(comparison.network, style="dim"),
        by_layer(comparison),
        _farthest(comparison),
    )


def styled(deviation: float) -> Text:
    """A deviation, red when it is far."""
    return Text(f"{deviation:+.2f}" if deviation else "0", style="bold red" if abs(deviation) > FAR else "")


def by_layer(comparison: "Comparison") -> RenderableType:
    """One line a layer: largest deviation, what noise alone would give, root mean square."""
    names = comparison.quantities
    groups = [names[start : start + _SIDE_BY_SIDE] for start in range(0, len(names), _SIDE_BY_SIDE)]
    return Group(*(_group(comparison, group) for group in groups))


def _group(comparison: "Comparison", names: list[str]) -> Table:
    table = Table(title="Deviations in standard errors", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("layer", justify="right")
    lines = {(line.quantity, line.layer): line for line in comparison.summary() if line.quantity in names}
    for name in names:
        entries = max(line.entries for (quantity, _), line in lines.items() if quantity == name)
        table.add_column(f"{name} ({entries}): max", justify="right")
        table.add_column("noise", justify="right", style="dim")
        table.add_column("rms", justify="right")
    for layer in sorted({layer for _, layer in lines}):
        cells: list[RenderableType] = [str(layer)]
        for name in names:
            line = lines[name, layer]
            largest = Text(f"{line.largest:.2f}", style="bold red" if line.largest > FAR else "")
            cells += [largest, f"{line.expected_largest:.2f}", f"{line.rms:.2f}"]
        table.add_row(*cells)
    return table


def _farthest(comparison: "Comparison") -> Table:
    table = Table(title="Farthest entries", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("entry", "layer", "theory", "measured", "± error", "deviation"):
        table.add_column(name, justify="left" if name == "entry" else "right")
    for row in comparison.farthest(_WORST):
        table.add_row(*_cells(row))
    return table


def _cells(row: "Row") -> tuple[RenderableType, ...]:
    numbers = (f"{row.theory:.6g}", f"{row.measured:.6g}", f"{row.standard_error:.2g}")
    return row.component, str(row.layer), *numbers, styled(row.deviation)
