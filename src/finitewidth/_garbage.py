"""Python's collector of garbage, kept from looking where there is none."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def nothing_collected() -> Iterator[None]:
    """Importing and tracing make many objects and little garbage: Python's collector, which counts objects, would go through them again
    and again."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
