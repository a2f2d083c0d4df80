"""At how many depths the covariances of paths are kept."""

from .._validation import as_count

_SAVED = 50
_BYTES = 2**30  # by default fewer depths are saved rather than more than this


def saved_intervals(save: int | None, most: int, paths: int, tokens: int) -> int:
    """After how many equal intervals of depth covariances are kept: `save`, by default 50 where memory allows, of `most`."""
    if save is None:
        affordable = _BYTES // (8 * paths * tokens**2) - 1
        save = max(1, min(_SAVED, affordable))
    return min(as_count(save, "save"), most)
