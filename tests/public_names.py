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
        for name in module.__all__:
            thing = getattr(module, name)
            if not inspect.ismodule(thing):
                yield thing
            elif thing not in seen:
                ahead.append(thing)
