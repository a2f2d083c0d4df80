"""Where the pictures of the documentation go, and how they are written."""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

from finitewidth.figures import STYLE

IMAGES = Path(__file__).resolve().parents[1] / "images"


def panels(rows: int, columns: int, width: float, height: float) -> Any:
    """Axes on a new figure in the style of the library."""
    pyplot.rcParams.update(STYLE)
    return pyplot.subplots(rows, columns, figsize=(width, height))[1]


def save(name: str) -> None:
    """Write the current figure, the same bytes whenever it is drawn anew."""
    IMAGES.mkdir(exist_ok=True)
    pyplot.savefig(IMAGES / f"{name}.png", dpi=110, metadata={"Software": None})
    pyplot.close()
