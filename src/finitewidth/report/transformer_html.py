"""A report on a Transformer as one HTML page that needs nothing but itself."""

from typing import TYPE_CHECKING, Any

from ..figures import law_densities, tokens_by_depth
from .html import filled, svg, table
from .transformer_terminal import agreement_line, config_line, shaping_line, verdict

if TYPE_CHECKING:
    from .transformer_report import TransformerReport


def page(report: "TransformerReport") -> str:
    """The page."""
    data = report.data
    sentences = {
        "title": "finitewidth report: shaped Transformer",
        "config": config_line(data["config"]),
        "verdict": verdict(data),
        "shaping": shaping_line(data),
        "agreement": agreement_line(data),
    }
    last = min(1, data["config"]["tokens"] - 1)
    parts = {
        "fates": _fates(data["fates"]),
        "advice": "".join(_advice(each) for each in data["advice"]),
        "by_depth": svg("tokens", lambda axes: tokens_by_depth(report.limit, report.networks, axes)),
        "densities": svg("densities", lambda axes: law_densities(report.limit, report.networks, axes, (0, last))),
    }
    return filled("transformer.html", sentences, parts)


def _fates(fates: dict[str, Any]) -> str:
    rows = [(label, *_shares(fates[name])) for name, label in (("limit", "in the limit"), ("networks", "measured"))]
    return table(("share of networks that", "explode", "vanish", "collapse"), rows)


def _advice(advice: dict[str, Any]) -> str:
    rows = [
        (f"{value:g}", *_shares(fate), "recommended" if value == advice["chosen"] else "")
        for value, fate in zip(advice["values"], advice["fates"], strict=True)
    ]
    return table((advice["parameter"], "explode", "vanish", "collapse", ""), rows)


def _shares(fate: dict[str, float]) -> list[str]:
    return [f"{fate[name]:.1%}" for name in ("explosion", "vanishing", "collapse")]
