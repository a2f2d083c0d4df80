"""Bars and curves drawn with characters."""

from collections.abc import Sequence

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BAR = 18  # characters of the longest
_SPARKS = "▁▂▃▄▅▆▇█"
_MOST_SPARKS = 32
_FLAT = 1e-3  # relative variation below which a curve is drawn flat


def bar(length: float) -> str:
    """A bar of a length between zero and one, to an eighth of a character."""
    eighths = round(max(0.0, min(1.0, length)) * _BAR * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def sparks(values: Sequence[float]) -> str:
    """A curve from the lowest character to the highest; of many values as many as there is room for."""
    last, most = len(values) - 1, _MOST_SPARKS
    shown = [values[round(i * last / (most - 1))] for i in range(most)] if len(values) > most else values
    low, high = min(shown), max(shown)
    flat = high - low <= _FLAT * max(abs(high), abs(low))
    steps = [0.5 if flat else (value - low) / (high - low) for value in shown]
    return "".join(_SPARKS[min(7, int(8 * step))] for step in steps)
