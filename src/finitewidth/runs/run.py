"""The loop behind every long run: lane after lane, with a progress bar, and written down as it goes."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import jax

from .._progress import ProgressBar
from .checkpoint import Checkpoint

State = TypeVar("State")

_LANES_PER_CHUNK = 16
_BYTES_PER_CHUNK = 2**26  # a state so large is written after every chunk, larger ones less often


def run(
    advance: Callable[..., State],
    state: State,
    *,
    total: int,
    lane: int,
    problem: Any,
    chunk_size: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    things: str = "networks",
    parts: int = 1,
    check: Callable[[State], None] | None = None,
) -> State:
    """The state after `total` networks or paths.

    **Arguments:**

    - `advance`: the state after the lane that starts at a number, `advance(state, first)`. What it draws depends on that
      number alone, so that neither chunks nor interruptions change a result.
    - `state`: the start, a pytree of arrays.
    - `problem`: all that decides the result; a checkpoint of another problem is refused.
    - `chunk_size`: how many between two updates of the bar and of the checkpoint, rounded up to whole lanes.
    - `things`, `parts`: what the bar counts, and how many of them each network or path is made of. With more than one, `advance` takes a
      third argument, a function to be called with the number of parts that are done.
    - `check`: called with the state after every chunk; it may raise.
    """
    chunk = lane * _LANES_PER_CHUNK if chunk_size is None else -(-chunk_size // lane) * lane
    record = None if checkpoint is None else Checkpoint(checkpoint, problem)
    done, state = (0, state) if record is None else record.load(state, total)
    chunks_between = -(-sum(leaf.nbytes for leaf in jax.tree.leaves(state)) // _BYTES_PER_CHUNK)
    with ProgressBar(parts * total, progress, parts * done, things) as bar:
        for number, first in enumerate(range(done, total, chunk)):
            end = min(first + chunk, total)
            for start in range(first, end, lane):
                if parts == 1:
                    state = advance(state, start)
                else:
                    state = advance(state, start, lambda part, before=parts * start: bar.advance_to(before + part))
            if check is not None:
                check(state)
            if record is not None and (end == total or number % max(1, chunks_between) == 0):
                record.save(end, state)
            bar.advance_to(parts * end)
    return state
