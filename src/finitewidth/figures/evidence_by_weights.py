"""The evidence of data against the variance of weights, one line for each depth."""

from typing import TYPE_CHECKING

import numpy as np

from .._entry import entry
from .._errors import DomainError
from .._result import picture_of
from ..learning import EvidenceScan
from .style import one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@picture_of(EvidenceScan)
@entry()
def evidence_by_weights(scan: EvidenceScan, axes: "Axes | None" = None, *, bias: int = 0) -> "Axes":
    r"""$\log p(y|C_W, L)$, PDLT (6.34), over $C_W$, a dot at each line's maximum. Lines are darker the deeper the network.

    **Arguments:**

    - `scan`: what `evidence_scan` returns.
    - `bias`: which of the scan's `C_b`.

    Examples:
        >>> scan = fw.learning.evidence_scan(fw.MLP("relu", (1, 8, 1)), [[1.0]], [1.0], C_W=[1.0, 1.5, 2.0])
        >>> fw.figures.evidence_by_weights(scan).get_xlabel()
        '$C_W$'
    """
    if not 0 <= bias < len(scan.log_evidence):
        raise DomainError("bias", bias, f"one of the scan's C_b, 0 to {len(scan.log_evidence) - 1}")
    axes = one_axes(axes)
    from matplotlib import colormaps

    shades = colormaps["viridis"](np.linspace(0.85, 0.0, len(scan.depths)))
    for depth, shade, values in zip(scan.depths, shades, scan.log_evidence[bias].T, strict=True):
        seen = np.where(np.isfinite(values), values, np.nan)
        axes.plot(scan.C_W, seen, color=shade, label=f"L = {depth}")
        best = int(np.argmax(values))
        axes.plot(scan.C_W[best], values[best], "o", color=shade, markersize=5, zorder=3)
    axes.set(xlabel="$C_W$", ylabel=r"$\log\, p(y)$")
    axes.legend()
    return axes
