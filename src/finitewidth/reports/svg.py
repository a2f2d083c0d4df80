"""Drawings inside a page."""

import io
import re
from typing import Any

from ..figures import STYLE
from .section import Drawing

# Matplotlib writes this colour where the page's own text colour should be, light or dark.
_INK = "#010203"


def svg(drawing: Drawing) -> str:
    """A drawing with the page's text colour and font."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    inked = "text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"
    style: dict[Any, Any] = STYLE | dict.fromkeys(inked, _INK) | {"svg.fonttype": "none", "svg.hashsalt": drawing.name}
    sink = io.StringIO()
    with rc_context(style):
        figure = Figure(figsize=(10, 3.7))
        drawing.draw(tuple(figure.subplots(1, 2)))
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(sink, format="svg", transparent=True, metadata=nothing)
    text = sink.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    return re.sub(r' (xmlns(:\w+)?="[^"]*"|width="[^"]*pt"|height="[^"]*pt")', "", text, count=4)
