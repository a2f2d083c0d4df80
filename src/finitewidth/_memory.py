"""How much memory there is, so that what will not fit is refused before it is begun: the one check for every verb."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ._errors import DomainError

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")
_USUAL = 8 * 10**9  # where no system says how much there is
_ALWAYS = 2**26  # bytes that nobody is asked for
_BYTES_PER_LAYER = 200.0  # of some numbers each: widths, hyperparameters, and what is made of them
_UNITS = ("GB", "TB", "PB", "EB")


def available_memory() -> int:
    """Bytes that a new computation may take: those that Linux calls available, or what a container or `ulimit -v` leaves of its share
    if that is less; elsewhere all there are."""
    try:
        figures = dict(line.split(":", 1) for line in (_PROC / "meminfo").read_text().splitlines())
        free = 1024 * int(figures["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        free = _physical_memory()
    return max(0, min(free, *_left_in_groups(), _left_of_addresses()))


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _USUAL


def _left_in_groups() -> Iterator[int]:
    """What each control group of this process, and each above it, leaves of its limit; in a container the path is the host's, and the
    container's own group is where all are mounted."""
    yield sys.maxsize
    try:
        lines = (_PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for _, controllers, path in (line.split(":", 2) for line in lines if line.count(":") >= 2):
        if controllers in ("", "memory"):
            mounted = _GROUPS / controllers
            names = ("limit_in_bytes", "usage_in_bytes") if controllers else ("max", "current")
            own = mounted / path.lstrip("/")
            for folder in (own, *own.parents):
                if folder == mounted or mounted in folder.parents:
                    yield _left_in(folder, *names)


def _left_in(group: Path, limit: str, usage: str) -> int:
    try:
        most, taken = (int((group / f"memory.{name}").read_text()) for name in (limit, usage))
        counts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):  # no limit
        return sys.maxsize
    # Copies of files, which the kernel gives up when it needs the room, count as taken.
    return most - taken + int(counts.get("inactive_file", 0))


def _left_of_addresses() -> int:
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int((_PROC / "self" / "statm").read_text().split()[0])
    except (ImportError, OSError, ValueError):
        return sys.maxsize
    return sys.maxsize if most == resource.RLIM_INFINITY else most - pages * resource.getpagesize()


def check_memory(needed: float, argument: str, what: str, want: str) -> None:
    """`DomainError` for `what`, which needs so many bytes, if there are not as many.

    Called before any work, with the caller's argument, what came with it (`200 inputs, whose V has 12.8 GB alone: L N^4 numbers`) and what
    would fit. It needs shapes only, so it serves under `jit` too.
    """
    if needed <= _ALWAYS:
        return
    there = available_memory()
    if needed > there:
        raise DomainError(
            argument, f"{what}: {gigabytes(needed)} of memory where {gigabytes(there)} are available", want
        )


def check_layers(depth: int, argument: str = "depth") -> None:
    """`check_memory` for so many layers, each of which has numbers of its own."""
    check_memory(_BYTES_PER_LAYER * depth, argument, f"{depth} layers", "fewer layers")


def check_four_samples(tensors: float, layers: int, samples: int, argument: str) -> None:
    """`check_memory` for so many tensors of four samples in every layer: what the corrections of order 1/n take, and their measurement."""
    one = 8.0 * layers * samples**4
    to = f" to {layers} layers" if layers > 1 else ""
    what = f"{samples} inputs{to}, of which one tensor of four samples has {gigabytes(one)}: 8 L N^4 bytes"
    check_memory(tensors * one, argument, what, "fewer inputs; `kernel` and `frozen_ntk` take thousands")


def gigabytes(count: float) -> str:
    """`12.3 GB`, or the unit in which it is less than a thousand."""
    size, unit = count / 1e9, 0
    while size >= 999.5 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.3g} {_UNITS[unit]}"
