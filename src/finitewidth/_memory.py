"""How much memory there is, so that what will not fit is refused before it is begun."""

import os
import sys
from pathlib import Path

from ._errors import DomainError

_LINUX = Path("/proc/meminfo")
_CONTAINER = Path("/sys/fs/cgroup")


def available_memory() -> int | None:
    """Bytes that a new computation may take: those that Linux calls available, or what a container leaves of its share if that is
    less; elsewhere all there are; `None` if nobody says."""
    if _LINUX.exists():
        figures = dict(line.split(":", 1) for line in _LINUX.read_text().splitlines())
        if "MemAvailable" in figures:
            return min(1024 * int(figures["MemAvailable"].split()[0]), _left_in_container())
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _left_in_container() -> int:
    try:
        most, taken = ((_CONTAINER / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return int(most) - int(taken)
    except (OSError, ValueError):  # no container, or one without a limit
        return sys.maxsize


def check_memory(needed: float, argument: str, what: str, want: str) -> None:
    """`DomainError` for `what`, which needs so many bytes, if there are not as many."""
    there = available_memory()
    if there is not None and needed > there:
        raise DomainError(
            argument, f"{what}: {gigabytes(needed)} of memory where {gigabytes(there)} are available", want
        )


def gigabytes(count: float) -> str:
    """`12.3 GB`."""
    return f"{count / 1e9:.3g} GB"
