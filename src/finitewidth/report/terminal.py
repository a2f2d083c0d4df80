"""A report for a terminal of 80 columns and more."""

import io
import math
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from .compare_table import FAR, styled
from .words import advice, agreement, is_recommended, network_line, settings_line, validity_line

WIDTH = 88
"""Of a report, in columns."""
_LINES = 12  # of the table by depth
_BAR = 18
_SMALLEST, _LARGEST = -4, 6  # powers of ten between which a number is written without one
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_SPARKS = "▁▂▃▄▅▆▇█"
_FLAT = 1e-3  # relative variation below which a curve is drawn flat


def as_text(renderable: RenderableType) -> str:
    """Plain text of what rich would print."""
    sink = io.StringIO()
    Console(file=sink, width=WIDTH, color_system=None, legacy_windows=False).print(renderable)
    return "\n".join(line.rstrip() for line in sink.getvalue().rstrip().splitlines())


def renderable(data: dict[str, Any]) -> RenderableType:
    """The report, section by section."""
    return Group(
        Panel(Text(network_line(data), style="bold"), title="finitewidth report", width=WIDTH, border_style="blue"),
        *section("Criticality", *_criticality(data["criticality"]), Text(advice(data))),
        *section("Kernel and fluctuation by depth", _by_depth(data["layers"]), _shape(data["layers"])),
        *(section("Training", _training(data), Text(data["training"]["verdict"])) if data["training"] else []),
        *section("Depth over width", _gauge(data["validity"]), Text(validity_line(data))),
        *section("Theory against networks", _worst(data["agreement"]), Text(agreement(data))),
        Padding(Text(settings_line(data), style="dim"), (1, 0, 0, 0)),
    )


def section(title: str, *parts: RenderableType) -> list[RenderableType]:
    """A heading and what stands below it."""
    heading = Padding(Text(title, style="bold blue"), (1, 0, 0, 0))
    return [heading, *(_indented(part) for part in parts)]


def _indented(part: RenderableType) -> RenderableType:
    return Padding(part, (0, 0, 0, 2), expand=False) if isinstance(part, Table) else _Wrapped(part)


class _Wrapped:
    """A paragraph, indented and no wider than the report."""

    def __init__(self, part: RenderableType):
        self.part = part

    def __rich_console__(self, console: Console, options: Any) -> Any:
        yield from console.render(Padding(self.part, (0, 0, 0, 2)), options.update(width=min(WIDTH, options.max_width)))


def _criticality(verdict: dict[str, Any]) -> list[RenderableType]:
    if not verdict["critical_points"]:
        return [Text("no critical point", style="bold yellow")]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("C_b", "C_W", "K*"):
        table.add_column(name, justify="right")
    table.add_column("kernels near K*")
    table.add_column()
    for point in verdict["critical_points"]:
        chosen = is_recommended(point, verdict)
        K_star = "any" if point["K_star"] is None else f"{point['K_star']:.7g}"
        numbers = (f"{point['C_b']:.8g}", f"{point['C_W']:.8g}", K_star)
        mark = "← recommended" if chosen else ""
        table.add_row(*numbers, point["stability"], mark, style="bold green" if chosen else "dim")
    return [table]


def chosen_layers(layers: int) -> list[int]:
    """Indices of the layers to show: all of a few, else evenly spaced with the first and the last."""
    if layers <= _LINES:
        return list(range(layers))
    return sorted({round(i * (layers - 1) / (_LINES - 1)) for i in range(_LINES)})


def _by_depth(layers: dict[str, Any]) -> Table:
    """The first input: theory, networks and a bar as long as the fluctuation."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("layer", "kernel G", "measured", "V/(nK²)", "measured"):
        table.add_column(name, justify="right")
    table.add_column("fluctuation")
    measured = layers["measured"]
    fluctuation = [row[0] for row in layers["relative_fluctuation"]]
    for i in chosen_layers(len(fluctuation)):
        kernel = with_error(measured["K"]["mean"][i][0], measured["K"]["standard_error"][i][0])
        vertex = measured["relative_fluctuation"]
        spread = with_error(vertex["mean"][i][0], vertex["standard_error"][i][0])
        bar = Text(_bar(fluctuation[i] / (max(fluctuation) or 1.0)), style="blue")
        table.add_row(str(layers["layer"][i]), f"{layers['G'][i][0]:.5g}", kernel, f"{fluctuation[i]:.4g}", spread, bar)
    return table


def _training(data: dict[str, Any]) -> Table:
    """The first input's tangent kernel and the learning rates, layer by layer."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("layer", "Θ", "variance/Θ²", "biases' share", "weights'", "rate of biases", "of weights"):
        table.add_column(name, justify="right")
    part = data["training"]
    share, rates = part["share"], part["rates"]
    for i in chosen_layers(len(part["Theta"])):
        kernel = f"{part['Theta'][i]:.4g}", f"{part['relative_fluctuation'][i]:.3g}"
        shares = (f"{100 * share[name][i]:.3g} %" for name in ("bias", "weight"))
        shown = (f"{rates[name][i]:.3g}" for name in ("bias", "weight"))
        table.add_row(str(data["layers"]["layer"][i]), *kernel, *shares, *shown)
    return table


def with_error(mean: float, error: float) -> str:
    """A number rounded to its standard error: 0.4213(12) means 0.4213 ± 0.0012, and 4.21(12)e+09 likewise."""
    if error == 0 or not math.isfinite(error):
        return f"{mean:.5g}"
    power = math.floor(math.log10(max(abs(mean), error)))
    if not _SMALLEST <= power < _LARGEST:
        return f"{with_error(mean / 10.0**power, error / 10.0**power)}e{power:+03d}"
    digits = 1 - math.floor(math.log10(float(f"{error:.1e}")))
    if digits < 0:
        return f"{round(mean, digits):.0f}({round(error, digits):.0f})"
    return f"{mean:.{digits}f}({round(error * 10**digits)})"


def _bar(share: float) -> str:
    eighths = round(max(0.0, min(1.0, share)) * _BAR * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _shape(layers: dict[str, Any]) -> Text:
    """How the kernel and the correlation of the first two inputs run through the network, at a glance."""
    lines = [_spark("kernel", [row[0] for row in layers["K"]])]
    if len(layers["correlation"][0]) > 1:
        lines.append(_spark("correlation of inputs 0,1", [row[1] for row in layers["correlation"]]))
    return Text("\n").join(lines)


def _spark(name: str, values: list[float]) -> Text:
    shown = [values[round(i * (len(values) - 1) / 31)] for i in range(32)] if len(values) > 32 else values
    low, high = min(shown), max(shown)
    flat = high - low <= _FLAT * max(abs(high), abs(low))
    steps = [0.5 if flat else (value - low) / (high - low) for value in shown]
    sparks = "".join(_SPARKS[min(7, int(8 * step))] for step in steps)
    ends = f"{values[0]:.4g} to {values[-1]:.4g}"
    return Text.assemble(f"{name:<27}", (sparks, "blue"), f"  {ends}")


def _gauge(validity: dict[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_row("depth over width, Σ 1/n", f"{validity['depth_over_width']:.4g}")
    table.add_row("largest V/(nK²)", f"{validity['relative_fluctuation']:.4g}")
    table.add_row("regime", Text(validity["label"], style="bold"))
    return table


def _worst(agreement: dict[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2))
    for name in ("K", "G1", "V"):
        lines = [line for line in agreement["summary"] if line["quantity"] == name]
        largest = max(float(line["largest"]) for line in lines)
        entries = sum(line["entries"] for line in lines)
        style = "bold red" if largest > FAR else "green"
        table.add_row(
            name, f"{entries} entries", "largest deviation", Text(f"{largest:.2f}", style=style), "std. errors"
        )
    row = agreement["worst"]
    table.add_row("farthest", row["component"], f"layer {row['layer']}", styled(float(row["deviation"])), "std. errors")
    return table
