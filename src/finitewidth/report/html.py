"""A report as one HTML page that needs nothing but itself: style and pictures are inside, nothing is fetched."""

import io
import re
from collections.abc import Callable, Iterable
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from ..figures import STYLE, comparison, flow_by_depth
from .terminal import with_error
from .words import advice, agreement, is_recommended, network_line, settings_line, validity_line

if TYPE_CHECKING:
    from .report import Report

# Matplotlib writes this colour where the page's own text colour should be, light or dark.
_INK = "#010203"


def page(report: "Report") -> str:
    """The page."""
    data = report.data
    exponents = data["criticality"]["exponents"]
    nu = exponents["nu"] if exponents and data["criticality"]["tuned"] else None
    content = {
        "title": f"finitewidth report: {data['network']['activation']} MLP",
        "network": network_line(data),
        "advice": advice(data),
        "validity": validity_line(data),
        "agreement": agreement(data),
        "settings": settings_line(data),
        "label": data["validity"]["label"],
        "depth_over_width": f"{data['validity']['depth_over_width']:.4g}",
        "fluctuation": f"{data['validity']['relative_fluctuation']:.4g}",
        "class": data["criticality"]["class"],
    }
    parts = {
        "points": _points(data["criticality"]),
        "by_depth": _by_depth(data["layers"]),
        "training": _training(data),
        "farthest": _farthest(report),
        "flow": svg("flow", lambda axes: flow_by_depth(report.theory, report.measured, axes, nu=nu)),
        "deviations": svg("deviations", lambda axes: comparison(report.comparison, axes)),
    }
    return filled("page.html", content, parts)


def filled(body: str, sentences: dict[str, str], parts: dict[str, str]) -> str:
    """A page with the template `body` in it: sentences are escaped, parts are HTML; one of the sentences is the title."""
    words = {name: escape(text) for name, text in sentences.items()}
    content = _template(body).substitute(words | parts)
    style = _template("page.css").template
    return _template("frame.html").substitute(title=words["title"], style=style, body=content)


def _template(name: str) -> Template:
    return Template(files("finitewidth.report").joinpath(name).read_text("utf-8"))


def svg(name: str, draw: Callable[[Any], object]) -> str:
    """A drawing with the page's text colour and font."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    inked = "text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"
    style: dict[Any, Any] = STYLE | dict.fromkeys(inked, _INK) | {"svg.fonttype": "none", "svg.hashsalt": name}
    sink = io.StringIO()
    with rc_context(style):
        figure = Figure(figsize=(10, 3.7))
        draw(figure.subplots(1, 2))
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(sink, format="svg", transparent=True, metadata=nothing)
    drawing = sink.getvalue()
    drawing = drawing[drawing.index("<svg") :].replace(_INK, "currentColor")
    return re.sub(r' (xmlns(:\w+)?="[^"]*"|width="[^"]*pt"|height="[^"]*pt")', "", drawing, count=4)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Cells as text, the head set apart."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def _points(verdict: dict[str, Any]) -> str:
    rows = [
        (
            f"{point['C_b']:.10g}",
            f"{point['C_W']:.10g}",
            "any" if point["K_star"] is None else f"{point['K_star']:.10g}",
            point["stability"],
            "recommended" if is_recommended(point, verdict) else "",
        )
        for point in verdict["critical_points"]
    ]
    return table(("C_b", "C_W", "K*", "kernels near K*", ""), rows) if rows else ""


def _by_depth(layers: dict[str, Any]) -> str:
    """Every layer, for the first input."""
    measured = layers["measured"]

    def found(name: str, i: int) -> str:
        return with_error(measured[name]["mean"][i][0], measured[name]["standard_error"][i][0])

    rows = [
        (
            str(layer),
            f"{layers['K'][i][0]:.6g}",
            f"{layers['G'][i][0]:.6g}",
            found("K", i),
            f"{layers['V'][i][0]:.6g}",
            found("V", i),
            f"{layers['relative_fluctuation'][i][0]:.4g}",
        )
        for i, layer in enumerate(layers["layer"])
    ]
    return table(("layer", "K", "G = K + G1/n", "measured", "V", "measured", "V/(nK²)"), rows)


def _training(data: dict[str, Any]) -> str:
    """The section on training, if the activation has a tangent kernel."""
    part = data["training"]
    if part is None:
        return ""
    head = ("layer", "Θ", "variance/Θ²", "share of biases", "of weights", "rate of biases", "of weights")
    columns = (part["Theta"], part["relative_fluctuation"], *part["share"].values())
    columns += part["rates"]["bias"], part["rates"]["weight"]
    numbers = zip(*columns, strict=True)
    rows = [
        (str(layer), *(f"{value:.4g}" for value in row))
        for layer, row in zip(data["layers"]["layer"], numbers, strict=True)
    ]
    caption = (
        "Tangent kernel of the first input, its variance between networks, what biases and weights of each layer "
        "contribute to that of the output, and their rates under gradient descent with global rate 1."
    )
    layers = f'<div class="scroll">{table(head, rows)}</div><p class="soft">{escape(caption)}</p>'
    return f"<h2>Training</h2><p>{escape(part['verdict'])}</p><details><summary>All layers</summary>{layers}</details>"


def _farthest(report: "Report") -> str:
    rows = [
        (
            row.component,
            str(row.layer),
            f"{row.theory:.6g}",
            with_error(row.measured, row.standard_error),
            f"{row.deviation:+.2f}",
        )
        for row in report.comparison.farthest(5)
    ]
    return table(("entry", "layer", "theory", "measured", "deviation"), rows)
