"""How many networks or paths are drawn side by side."""

from .._memory import check_memory

CACHE = 4 * 2**20
"""Bytes that networks drawn side by side take together. More is slower: their numbers would leave the cache."""

_MOST = 4096


def lane_size(numbers_each: int, total: int, memory: int = CACHE) -> int:
    """A power of two that fits the memory, at `numbers_each` float64 numbers for each, or that holds all of them."""
    fits = max(1, min(_MOST, memory // (8 * numbers_each)))
    return 2 ** min(fits.bit_length() - 1, (total - 1).bit_length())


def lane_of_networks(numbers_each: int, total: int, memory: int = CACHE) -> int:
    """`lane_size` of networks `net`, which is refused where not one of them fits."""
    what = f"one that keeps {numbers_each} numbers at a time"
    check_memory(8.0 * numbers_each, "net", what, "a smaller one, or fewer inputs")
    return lane_size(numbers_each, total, memory)
