"""Timing shared by the benchmarks."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def timed(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """CPU seconds, wall seconds and result of one call; the call must block until its result is there."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return time.process_time() - cpu, time.perf_counter() - wall, result


def best(function: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """The least CPU and the least wall seconds over `repeats` calls, after one that is not counted."""
    function()
    runs = [timed(function)[:2] for _ in range(repeats)]
    return min(cpu for cpu, _ in runs), min(wall for _, wall in runs)


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """The slope of log cost against log size over the two largest sizes; NaN for a single size."""
    if len(sizes) < 2:
        return float("nan")
    (a, b), (x, y) = np.log(sizes[-2:]), np.log(costs[-2:])
    return float((y - x) / (b - a))


def table(rows: list[dict[str, Any]]) -> str:
    """Rows of equal keys as a Markdown table."""
    keys = list(rows[0])
    cells = [[f"{row[k]:.3g}" if isinstance(row[k], float) else str(row[k]) for k in keys] for row in rows]
    widths = [max(len(k), *(len(line[i]) for line in cells)) for i, k in enumerate(keys)]
    lines = [keys, ["-" * w for w in widths], *cells]
    return "\n".join("| " + " | ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in lines)
