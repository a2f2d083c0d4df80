"""A progress bar for runs that deserve one."""

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

_LONG = 5.0  # seconds from which a run in a terminal gets a bar unasked


class ProgressBar:
    """Counts `things` on standard error: always, never, or (`shown=None`) in a terminal once the run proves long."""

    def __init__(self, total: int, shown: bool | None, done: int = 0, things: str = "networks"):
        self._total, self._first, self._things = total, done, things
        self._undecided = shown is None and sys.stderr.isatty()
        self._bar: Progress | None = None
        if shown:
            self._appear(done)

    def _appear(self, done: int) -> None:
        from rich.console import Console  # a tenth of a second to load
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn(self._things), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        console = Console(stderr=True)
        self._bar = Progress(*columns, console=console, transient=console.is_terminal)
        self._task = self._bar.add_task(self._things, total=self._total, completed=done)
        self._bar.start()

    def __enter__(self) -> "ProgressBar":
        self._started = time.monotonic()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance_to(self, done: int) -> None:
        """So many are `done`."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done)
        elif self._undecided:
            elapsed = time.monotonic() - self._started
            expected = elapsed * (self._total - self._first) / (done - self._first)
            if expected > _LONG:
                self._undecided = False
                self._appear(done)
