"""Where the pictures of the documentation go, and how they are written: beside each, the numbers that it shows."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import Collection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from PIL import Image

from finitewidth.figures import STYLE

IMAGES = Path(__file__).resolve().parents[1] / "images"
NUMBERS = Path(__file__).resolve().parent / "data"
_POINTS, _DIGITS = 24, 6  # kept of every curve
_MOST = 200_000  # bytes, beyond which a picture makes do with 256 colours: a page is read on a phone, too


def panels(rows: int, columns: int, width: float, height: float) -> Any:
    """Axes on a new figure in the style of the library."""
    pyplot.rcParams.update(STYLE)
    return pyplot.subplots(rows, columns, figsize=(width, height))[1]


def save(name: str) -> None:
    """Write the current figure, the same bytes whenever it is drawn anew, and a digest of what it shows."""
    picture = IMAGES / f"{name}.png"
    for folder in (IMAGES, NUMBERS):
        folder.mkdir(exist_ok=True)
    pyplot.savefig(picture, dpi=110, metadata={"Software": None})
    if picture.stat().st_size > _MOST:
        Image.open(picture).convert("RGB").quantize(256).save(picture, optimize=True)
    shown = [_panel(axes) for axes in pyplot.gcf().axes]
    pyplot.close()
    digest = {"sha256": hashlib.sha256(picture.read_bytes()).hexdigest(), "panels": shown}
    text = json.dumps(digest, indent=1, ensure_ascii=False)
    on_one_line = re.sub(r"\[[^][{}]*\]", lambda numbers: " ".join(numbers[0].split()), text)
    (NUMBERS / f"{name}.json").write_text(on_one_line + "\n", "utf-8")


def _panel(axes: Axes) -> dict[str, Any]:
    """Words, ranges and curves of one panel. Numbers are logarithms to base ten where the axis is logarithmic, and end where
    the panel does."""
    legend = axes.get_legend()
    return {
        "title": axes.get_title(),
        "x": {"label": axes.get_xlabel(), "scale": axes.get_xscale(), "range": _rounded(_x(axes, axes.get_xlim()))},
        "y": {"label": axes.get_ylabel(), "scale": axes.get_yscale(), "range": _rounded(_y(axes, axes.get_ylim()))},
        "texts": [text.get_text() for text in [*axes.texts, *(legend.get_texts() if legend else [])]],
        "lines": [_line(axes, line) for line in axes.get_lines()],
        "areas": [_area(axes, area) for area in axes.collections if _is_drawn(area)],
    }


def _line(axes: Axes, line: Line2D) -> dict[str, Any]:
    style = {"color": to_hex(line.get_color()), "line": line.get_linestyle(), "marker": str(line.get_marker())}
    x, y = line.get_data()
    return {"label": str(line.get_label()), **style, "x": _digest(_x(axes, x)), "y": _digest(_y(axes, y))}


def _is_drawn(area: Collection) -> bool:
    return isinstance(area, QuadMesh) or len(area.get_paths()) > 0  # a colour bar has dividers, even if it has none


def _area(axes: Axes, area: Collection) -> dict[str, Any]:
    """A map by its values; bands and error bars by their corners."""
    if isinstance(area, QuadMesh):
        return {"values": _digest(np.ma.getdata(area.get_array()).ravel().astype(float))}
    x, y = np.concatenate([path.vertices for path in area.get_paths()]).T
    return {"x": _digest(_x(axes, x)), "y": _digest(_y(axes, y))}


def _x(axes: Axes, values: Any) -> np.ndarray:
    return _seen(values, axes.get_xlim(), axes.get_xscale())


def _y(axes: Axes, values: Any) -> np.ndarray:
    return _seen(values, axes.get_ylim(), axes.get_yscale())


def _seen(values: Any, ends: tuple[float, float], scale: str) -> np.ndarray:
    inside = np.clip(np.asarray(values, dtype=float), min(ends), max(ends))
    return np.log10(inside) if scale == "log" else inside


def _digest(values: np.ndarray) -> dict[str, Any]:
    """How many, their mean, and some of them."""
    some = np.unique(np.linspace(0, len(values) - 1, _POINTS).round().astype(int)) if len(values) else []
    finite = values[np.isfinite(values)]
    mean = _rounded([finite.mean()])[0] if len(finite) else None
    return {"count": len(values), "mean": mean, "some": _rounded(values[some])}


def _rounded(values: Any) -> list[float | None]:
    return [float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else None for value in values]
