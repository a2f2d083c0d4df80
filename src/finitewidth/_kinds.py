"""Whether values are what the annotations of a class say: asked of what comes from a file."""

import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import AbstractArray, jaxtyped

from ._errors import DomainError
from ._signature import described

_ARRAYS = (jax.Array, np.ndarray, np.generic)
_LETTERS = {
    bool: "b",
    int: "iu",
    float: "fiu",
    complex: "cfiu",
}  # NumPy's kinds of number that Python's may be given as


def check_kinds(kind: type, fields: Mapping[str, Any]) -> None:
    """`DomainError` for the first field that is not what its annotation says; axes of one name must be of one length."""
    with jaxtyped("context"):
        for name, annotation in _annotations(kind).items():
            if name in fields and not _is(fields[name], annotation):
                raise DomainError(f"{kind.__name__}.{name}", _said(fields[name]), _in_words(annotation))


@functools.lru_cache(maxsize=512)
def _annotations(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _is(value: Any, annotation: Any) -> bool:
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return True
    if isinstance(annotation, typing.TypeVar):  # what theory fills with an array, measurements with a mean and an error
        return isinstance(value, _ARRAYS) or hasattr(value, "__dataclass_fields__")
    if annotation is None or annotation is types.NoneType:
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(_is(value, part) for part in parts)
    if origin is typing.Literal:
        return any(type(value) is type(part) and value == part for part in parts)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        wanted = parts[:1] * len(value) if parts[1:] == (...,) else parts
        return len(value) == len(wanted) and all(map(_is, value, wanted))
    if origin is list:
        return isinstance(value, list) and all(_is(each, parts[0]) for each in value)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(_is(k, parts[0]) and _is(v, parts[1]) for k, v in value.items())
    if annotation in _LETTERS:
        return _is_number(value, annotation)
    if origin is Callable:
        return callable(value)
    checked = origin or annotation
    return isinstance(checked, type) and isinstance(value, checked)


def _is_number(value: Any, kind: type) -> bool:
    """Python's number, or an array without axes, as results have."""
    if isinstance(value, _ARRAYS):
        return np.ndim(value) == 0 and np.dtype(value.dtype).kind in _LETTERS[kind]
    return (
        type(value) is kind or (type(value) is int and kind is not bool) or (type(value) is float and kind is complex)
    )


def _said(value: Any) -> str:
    if isinstance(value, _ARRAYS):
        return f"an array of shape {np.shape(value)} and {value.dtype}"
    return f"{value!r}"[:80] if isinstance(value, tuple | list | dict) else described(value)


def _in_words(annotation: Any) -> str:
    parts = typing.get_args(annotation)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_in_words(part) for part in parts if part is not np.generic))
    if isinstance(annotation, type) and issubclass(annotation, AbstractArray):
        return f"an array ({annotation.dim_str or 'one number'})"
    if annotation is types.NoneType:
        return "None"
    return getattr(annotation, "__name__", f"{annotation}") if not parts else f"{annotation}".replace("typing.", "")
