"""Two laws as a table for a terminal."""

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..networks.shaped import CovarianceLaw
from .compare_laws import LEVELS, entries, quantiles

if TYPE_CHECKING:
    from .compare_laws import LawComparison

_UNLIKELY = 1e-3


def title(law: CovarianceLaw) -> str:
    """A law in one line."""
    what = f"limit, {law.method} steps" if law.width is None else f"networks, n = {law.width}, {law.method}"
    stopped = f", {law.stopped_fraction:.1%} stopped" if law.stopped_fraction else ""
    return f"{what} ({law.paths} paths{stopped})"


def law_table(law: CovarianceLaw) -> RenderableType:
    """Quantiles of every entry of one law."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("entry", *(f"{level:.0%}" for level in LEVELS)):
        table.add_column(name, justify="left" if name == "entry" else "right")
    for name, values in entries(law).items():
        table.add_row(name, *(f"{q:.4f}" for q in quantiles(values)))
    return Group(Text(f"At depth over width {law.depth_to_width:.4g}", style="bold"), Text(title(law)), table)


def renderable(comparison: "LawComparison") -> RenderableType:
    """Medians, central ranges and distances, entry by entry."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("entry", "first 5%", "median", "95%", "second 5%", "median", "95%", "KS", "p"):
        table.add_column(name, justify="left" if name == "entry" else "right")
    for row in comparison.rows:
        quantiles = [f"{of[i]:.3f}" for of in (row.first, row.second) for i in (0, 2, 4)]
        p = Text(f"{row.p_value:.2g}", style="bold red" if row.p_value < _UNLIKELY else "")
        table.add_row(row.entry, *quantiles, f"{row.distance:.4f}", p)
    heads = (
        Text(f"{name}: {title(law)}") for name, law in (("first", comparison.first), ("second", comparison.second))
    )
    depth = Text(f"At depth over width {comparison.first.depth_to_width:.4g}", style="bold")
    return Group(depth, *heads, table)
