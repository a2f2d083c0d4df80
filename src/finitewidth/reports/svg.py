"""Drawings inside a page."""

import io
import re
from html import escape
from typing import Any

from ..figures import STYLE
from .section import Drawing

# Matplotlib writes this colour where the page's own text colour should be, light or dark.
_INK = "#010203"


def svg(drawing: Drawing) -> str:
    """A drawing with the page's text colour and font: two pictures, side by side where there is room, below one another on a phone."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    inked = "text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"
    style: dict[Any, Any] = STYLE | dict.fromkeys(inked, _INK) | {"svg.fonttype": "none"}
    with rc_context(style):
        axes = tuple(Figure(figsize=(5, 3.7)).subplots() for _ in range(2))
        drawing.draw(axes)
    shown = [each for each in axes if each.axison and each.get_visible()]
    return "".join(_picture(each.figure, f"{drawing.name} {side}", style) for side, each in enumerate(shown))


def _picture(figure: Any, name: str, style: dict[Any, Any]) -> str:
    from matplotlib import rc_context

    title = figure.axes[0].get_title() or figure.axes[0].get_ylabel()
    across = figure.axes[0].get_xlabel()
    sink = io.StringIO()
    salted: dict[Any, Any] = style | {"svg.hashsalt": name}
    with rc_context(salted):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(sink, format="svg", transparent=True, metadata=nothing)
    text = sink.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    bare = re.sub(r' (xmlns(:\w+)?="[^"]*"|width="[^"]*pt"|height="[^"]*pt")', "", text, count=4)
    label = escape(re.sub(r"[$\\{}]", "", f"{title} by {across}" if across else title), quote=True)
    return bare.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
