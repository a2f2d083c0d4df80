"""A digest of anything that decides a result, so that two problems are taken for one only if they are the same."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import jax
import numpy as np


def fingerprint(*things: Any) -> str:
    """A digest of networks, arrays, settings: of every field of a description, whichever it has.

    What counts by its values rather than by its parts, as a function does, says so by a method `fingerprint_values`.
    """
    digest = hashlib.sha256()
    for piece in _pieces(things):
        digest.update(piece)
        digest.update(b"\0")
    return digest.hexdigest()


def _pieces(thing: Any) -> Iterator[bytes]:
    if isinstance(thing, jax.Array | np.ndarray | np.generic):
        array = np.asarray(thing)
        yield f"{array.dtype}{array.shape}".encode()
        yield np.ascontiguousarray(array).tobytes()
    elif thing is None or isinstance(thing, bool | int | float | complex | str | bytes | Enum):
        yield f"{type(thing).__name__}:{thing!r}".encode()
    elif isinstance(thing, Mapping):
        yield b"{"
        for key in sorted(thing):
            yield from _pieces((key, thing[key]))
        yield b"}"
    elif isinstance(thing, tuple | list):
        yield b"("
        for each in thing:
            yield from _pieces(each)
        yield b")"
    elif hasattr(thing, "fingerprint_values"):
        yield from _pieces((type(thing).__name__, thing.fingerprint_values()))
    elif dataclasses.is_dataclass(thing):
        fields = {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}
        yield from _pieces((type(thing).__name__, fields))
    else:
        raise TypeError(f"no fingerprint of a {type(thing).__name__}: give it `fingerprint_values`")
