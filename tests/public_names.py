"""What a user can reach through public names, whatever else the tests have imported."""

import inspect
from collections.abc import Iterator
from typing import Any

import finitewidth as fw


def public_things() -> Iterator[Any]:
    """Everything that is public in the package and in the rooms that it offers."""
    ahead, seen = [fw], set()
    while ahead:
        module = ahead.pop()
        seen.add(module)
        offered = inspect.getsource(module)
        for name in getattr(module, "__all__", vars(module)):  # names that are loaded on demand stand in `__all__`
            if name.startswith("_"):
                continue
            thing = getattr(module, name)
            if not inspect.ismodule(thing):
                yield thing
            # A room that somebody imported (the command line, the language model) is an attribute too, and not offered by that.
            elif f"{name} as {name}" in offered and hasattr(thing, "__path__") and thing not in seen:
                ahead.append(thing)
