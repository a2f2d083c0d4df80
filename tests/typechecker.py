"""The checker of annotations: beartype, with integers where real numbers are asked for, as everywhere in Python's types."""

import inspect
from collections.abc import Callable
from typing import Any

from beartype import BeartypeConf, beartype

_checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
_seen: dict[Any, Any] = {}


def typechecked(function: Callable[..., Any]) -> Callable[..., Any]:
    """A checked copy of one of jaxtyping's stand-ins, which have the signature of the function they guard and no body.

    A function within a function is defined, and its stand-ins are made, whenever the outer one is called. Stand-ins with the same
    signature check the same, so one checked copy serves them all.
    """
    signature = inspect.signature(function)
    try:
        return _seen[function.__module__, function.__qualname__, signature]
    except KeyError:
        _seen[function.__module__, function.__qualname__, signature] = checked = _checked(function)
        return checked
    except TypeError:  # an annotation or a default that has no hash
        return _checked(function)
