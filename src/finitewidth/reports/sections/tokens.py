"""Norms and correlations of tokens by depth."""

from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from ...figures import tokens_by_depth
from ...results import CovarianceLaw
from ..plain import plain
from ..section import Column, Details, Drawing, Section, Table

_LEVELS = (0.05, 0.5, 0.95)
_DEPTHS = 7  # of the table
_CAPTION = "Medians and central ranges of 90 %. Lines: the limit of depth in proportion to width. Points: networks."


def about_tokens(limit: CovarianceLaw, networks: CovarianceLaw, width: int) -> Section:
    """Quantiles of the mean square norm and of the mean correlation in the limit; drawn with networks of this width."""
    columns = _columns(limit)
    drawing = Drawing("tokens", partial(tokens_by_depth, limit, networks), _CAPTION)
    parts = drawing, Details("In numbers", (_table(columns, width),))
    return Section("by_depth", "Tokens by depth", plain(columns), parts)


def _columns(law: CovarianceLaw) -> dict[str, Any]:
    size = np.trace(law.V, axis1=2, axis2=3) / law.V.shape[-1]
    columns: dict[str, Any] = {
        "depth_to_width": law.times,
        "levels": _LEVELS,
        "norm": np.quantile(size, _LEVELS, axis=0),
    }
    a, b = np.triu_indices(law.V.shape[-1], 1)
    if len(a):
        columns["correlation"] = np.quantile(law.correlation()[:, :, a, b].mean(axis=2), _LEVELS, axis=0)
    return columns


def _table(columns: dict[str, Any], width: int) -> Table:
    """Medians and central ranges at a few depths: those of the limit lie between blocks, too close to name them all."""
    times = np.asarray(columns["depth_to_width"])
    chosen = sorted({round(k * (len(times) - 1) / (_DEPTHS - 1)) for k in range(_DEPTHS)})
    shown = [Column("block", tuple(f"{time * width:.0f}" for time in times[chosen]))]
    for name, head in (("norm", "mean square norm"), ("correlation", "mean correlation")):
        if name in columns:
            shown += _medians(head, columns[name][:, chosen])
    return Table(tuple(shown))


def _medians(head: str, quantiles: Float[np.ndarray, "3 depths"]) -> tuple[Column, Column]:
    low, middle, high = quantiles
    spread = tuple(f"{least:.3f} to {most:.3f}" for least, most in zip(low, high, strict=True))
    return Column(head, tuple(f"{value:.3f}" for value in middle)), Column("5 % to 95 %", spread)
