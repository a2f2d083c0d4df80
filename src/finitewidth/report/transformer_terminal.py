"""A report on a Transformer, for a terminal of 80 columns and more."""

from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from .terminal import WIDTH, section

_LINES = 7
_RISKY, _BAD = 0.05, 0.25


def renderable(data: dict[str, Any]) -> RenderableType:
    """The report, section by section."""
    head = Panel(
        Text(config_line(data["config"]), style="bold"), title="finitewidth report", width=WIDTH, border_style="blue"
    )
    return Group(
        head,
        *section("Tokens by depth", _by_depth(data)),
        *section("What may go wrong", _fates(data["fates"]), Text(verdict(data))),
        *section("Shaping", *(_advice(each) for each in data["advice"]), Text(shaping_line(data))),
        *section("The limit against networks", Text(agreement_line(data))),
    )


def config_line(config: dict[str, Any]) -> str:
    """What the Transformer is."""
    mask = {"causal": "causal", None: "unmasked"}[config["mask"]]
    return (
        f"Shaped Transformer, {mask}: {config['depth']} blocks of width {config['width']}, {config['heads']} heads, "
        f"gamma = {config['gamma']:g}, tau0 = {config['tau0']:g}; {config['tokens']} tokens of correlation "
        f"{config['correlation']:g}; depth over width {config['depth_to_width']:.3g}"
    )


def _by_depth(data: dict[str, Any]) -> Table:
    """Medians and central ranges of 90 %."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    columns = data["by_depth"]
    names = ["block", "mean square norm", "5 % to 95 %"]
    names += ["mean correlation", "5 % to 95 %"] if "correlation" in columns else []
    for name in names:
        table.add_column(name, justify="right")
    count = len(columns["depth_to_width"])
    for i in sorted({round(k * (count - 1) / (_LINES - 1)) for k in range(_LINES)}):
        cells = [f"{columns['depth_to_width'][i] * data['config']['width']:.0f}"]
        for quantity in ("norm", "correlation"):
            if quantity in columns:
                low, middle, high = (of_level[i] for of_level in columns[quantity])
                cells += [f"{middle:.3f}", f"{low:.3f} to {high:.3f}"]
        table.add_row(*cells)
    return table


def _fates(fates: dict[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("share of networks", "explode", "vanish", "collapse"):
        table.add_column(name, justify="left" if name.startswith("share") else "right")
    for name, label in (("limit", "in the limit"), ("networks", "measured")):
        table.add_row(label, *_cells(fates[name]))
    return table


def _cells(fate: dict[str, float]) -> list[RenderableType]:
    def cell(share: float) -> Text:
        return Text(f"{share:.1%}", style="bold red" if share > _BAD else "yellow" if share > _RISKY else "green")

    return [cell(fate[name]) for name in ("explosion", "vanishing", "collapse")]


def _advice(advice: dict[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in (advice["parameter"], "explode", "vanish", "collapse", ""):
        table.add_column(name, justify="right" if name else "left")
    for value, fate in zip(advice["values"], advice["fates"], strict=True):
        table.add_row(f"{value:g}", *_cells(fate), "← recommended" if value == advice["chosen"] else "")
    return table


def verdict(data: dict[str, Any]) -> str:
    """What the shares mean."""
    worst = max(max(fate.values()) for fate in data["fates"].values())
    if worst <= _RISKY:
        return "Tokens keep their norms and differences: the initialisation is safe at this depth."
    name = max(data["fates"]["networks"], key=lambda key: data["fates"]["networks"][key])
    if worst <= _BAD:
        return f"Some networks are at risk of {name}: a smaller gamma lowers it."
    return f"{name.capitalize()} is likely at this depth over width: lower gamma, or make the network wider."


def shaping_line(data: dict[str, Any]) -> str:
    """Which values to choose."""
    sentences = []
    for advice in data["advice"]:
        name, chosen, current = advice["parameter"], advice["chosen"], data["config"][advice["parameter"]]
        end = "largest" if name == "gamma" else "lowest"
        if chosen is None:
            sentences.append(f"No {name} of these keeps the tokens safe.")
        else:
            sentences.append(f"{name} = {chosen:g} is the {end} of these that is safe (here: {current:g}).")
    sentences.append("This is about initialisation; the models trained in the paper start at gamma = 0.05 to 0.2.")
    return " ".join(sentences)


def agreement_line(data: dict[str, Any]) -> str:
    """How close the limit is to networks of this width."""
    worst = data["agreement"]["worst"]
    return (
        f"Of {data['agreement']['entries']} entries of covariance and correlation the farthest is {worst['entry']}: "
        f"Kolmogorov-Smirnov distance {worst['distance']:.3f} between the limit and {data['meta']['networks']} networks "
        f"(p = {worst['p_value']:.2g}; one entry in {data['agreement']['entries']} is below "
        f"{1 / data['agreement']['entries']:.2g} by chance)."
    )
