"""A progress bar for runs that deserve one."""

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_LONG = 5.0  # seconds from which a run in a terminal gets a bar unasked


class ProgressBar:
    """Counts `things` on standard error: always, never, or (`shown=None`) in a terminal once the run proves long."""

    def __init__(self, total: int, shown: bool | None, done: int = 0, things: str = "networks"):
        columns = TextColumn(things), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        console = Console(stderr=True)
        self._bar = Progress(*columns, console=console, transient=console.is_terminal)
        self._task = self._bar.add_task(things, total=total, completed=done)
        self._total, self._first = total, done
        self._undecided = shown is None and sys.stderr.isatty()
        if shown:
            self._bar.start()

    def __enter__(self) -> "ProgressBar":
        self._started = time.monotonic()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar.live.is_started:  # stopping a bar that never appeared would print an empty line
            self._bar.stop()

    def advance_to(self, done: int) -> None:
        """So many are `done`."""
        self._bar.update(self._task, completed=done)
        if self._undecided:
            elapsed = time.monotonic() - self._started
            expected = elapsed * (self._total - self._first) / (done - self._first)
            if expected > _LONG:
                self._undecided = False
                self._bar.start()
