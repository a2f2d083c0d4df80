"""Arguments of the wrong kind are refused at the door, by name: before they are taken for something else."""

import inspect
import math
import operator
import typing
from collections.abc import Callable, Sequence
from types import NoneType, UnionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._errors import DomainError, ShapeError, UnknownArgumentError
from ._jax import Tracer

_WORDS = {float: "one real number", int: "an integer", bool: "True or False", NoneType: "None"}
_SAME = {tuple: Sequence, list: Sequence}


class Signature:
    """The kinds of arguments of a function, read off its annotations: numbers, integers, flags, functions, and objects of the
    library. Arrays and names are checked by the function itself, which knows their shapes and spellings; but no masked entry passes."""

    def __init__(self, function: Callable[..., Any]):
        self.signature = inspect.signature(function)
        kinds = {name: _kinds(each.annotation) for name, each in self.signature.parameters.items()}
        self.kinds = {name: of for name, of in kinds.items() if of}
        self.name = function.__qualname__.removesuffix(".__init__")

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """`DomainError` for the first argument of a wrong kind, and words for an unknown one. Missing ones are left to Python."""
        try:
            given = self.signature.bind(*args, **kwargs).arguments
        except TypeError:
            self._check_known(kwargs)
            return
        for name, value in given.items():
            if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
                raise DomainError(
                    name, "an array with masked entries", "all of its numbers: drop or fill what is masked"
                )
            kinds = self.kinds.get(name)
            if kinds is not None and not any(_is(value, kind) for kind in kinds):
                got = described(value) if any(kind in _WORDS for kind in kinds) else type_of(value)
                error = ShapeError if Sequence in kinds else DomainError
                raise error(name, got, " or ".join(map(_said, kinds)))

    def _check_known(self, kwargs: dict[str, Any]) -> None:
        parameters = self.signature.parameters.values()
        if any(each.kind is each.VAR_KEYWORD for each in parameters):
            return
        known = [each.name for each in parameters if each.kind is not each.POSITIONAL_ONLY and each.name != "self"]
        for name in kwargs:
            if name not in known:
                raise UnknownArgumentError(name, self.name, known)


def described(value: Any) -> str:
    """What came instead of a number: short things themselves, others by their type."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)[:60]
    return type_of(value)


def type_of(value: Any) -> str:
    """The full name of its type, so that the `MLP` of another library is not taken for ours."""
    kind = type(value)
    ours = kind.__module__ == "builtins" or kind.__module__.startswith(f"{__package__}.")
    return kind.__name__ if ours else f"{kind.__module__}.{kind.__qualname__}"


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """The kinds that an annotation allows; none if something among them is not checked here."""
    origin = typing.get_origin(annotation)
    parts = typing.get_args(annotation) if origin in (typing.Union, UnionType) else (annotation,)
    kinds = tuple(_SAME.get(typing.get_origin(part), typing.get_origin(part) or part) for part in parts)
    return kinds if all(_is_checked(kind) for kind in kinds) else ()


def _is_checked(kind: Any) -> bool:
    known = kind in _WORDS or kind in (Callable, Sequence)
    return known or (isinstance(kind, type) and kind.__module__.startswith(f"{__package__}."))


def _is(value: Any, kind: Any) -> bool:
    if kind is Callable:
        return callable(value)
    if kind is Sequence:
        return hasattr(value, "__iter__") and not isinstance(value, str | bytes | dict)
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind is float:
        return _is_number(value) and (isinstance(value, Tracer) or not _is_nan(value))
    if kind is int:
        return not isinstance(value, bool | np.bool_) and _is_index(value)
    return isinstance(value, kind)


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return np.ndim(value) == 0 and is_real(value.dtype)
    number = isinstance(value, int | float) or hasattr(value, "__float__")
    return number and not isinstance(value, bool) and not getattr(value, "shape", ())


def is_real(dtype: Any) -> bool:
    """Whether of real numbers: integers and floats of any size, but no times, which NumPy counts among integers."""
    return jnp.issubdtype(dtype, np.number) and dtype.kind not in "mc"


def _is_nan(value: Any) -> bool:
    try:
        return math.isnan(float(value))
    except (TypeError, OverflowError, RuntimeError):
        return False  # complex, or an integer beyond all floats: the function says what is wrong


def _is_index(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return isinstance(value, Tracer)
    return True


def _said(kind: Any) -> str:
    if kind in (Callable, Sequence):
        return "a function" if kind is Callable else "a sequence"
    # An abstract type says in words which of its kinds a user can make.
    words = _WORDS.get(kind) or kind.__dict__.get("in_words")
    return words or f"{'an' if kind.__name__[0] in 'AEIOM' else 'a'} {kind.__name__} of finitewidth"
