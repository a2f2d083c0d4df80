"""The door through which every public function is entered: precision, result, blow-up, warnings."""

import functools
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ._errors import ArgumentError, BlowUpError, ValidityWarning

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_PACKAGE = __name__.partition(".")[0]
_WRAPPERS = ("jaxtyping", "beartype", "equinox", "jax")  # whose frames may stand between the caller and the library


def entry(
    remedy: str | None = None, *, float64: bool = True
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """What every public function has in common, as a decorator.

    - It computes in float64, unless told otherwise, whatever the caller's global setting, which is left as it was.
      Arguments that are being traced belong to a computation of the caller's, whose backward pass would run outside this
      call: then the caller must have switched 64-bit types on, and is told so.
    - Arrays of the result are NumPy's, which keep their 64 bits in any mode; a result that is being traced is left alone.
    - With a `remedy`, a result that is not finite is a `BlowUpError` that ends in it.
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @functools.wraps(function)
        def entered(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            if not float64 or jax.dtypes.canonicalize_dtype(float) == np.float64:
                result = function(*args, **kwargs)
            else:
                _refuse_traced(function.__name__, (args, kwargs))
                with jax.enable_x64(True):
                    result = function(*args, **kwargs)
            if not is_traced(result):
                result = jax.tree.map(_to_numpy, result)
                if remedy is not None:
                    _check_finite(
                        result, f"`{function.__name__}` of {next(iter([*args, *kwargs.values()]), '')!r}", remedy
                    )
            return result

        return entered

    return decorate


def is_traced(tree: Any) -> bool:
    """Whether some leaf is being traced by `jit`, `vmap` or `grad`, so that its value cannot be looked at."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))


def warn(message: str) -> None:
    """A `ValidityWarning` that points at the line from which the library was called."""
    frame = _caller(sys._getframe(1))
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, ValidityWarning, frame.f_code.co_filename, frame.f_lineno, registry=registry)


def _caller(frame: FrameType) -> FrameType:
    """The frame that called the outermost function of the library."""
    outermost, each = frame, frame.f_back
    while each is not None:
        outermost = each if _room(each) == _PACKAGE else outermost
        each = each.f_back
    caller = outermost.f_back or outermost
    while caller.f_back is not None and _room(caller) in _WRAPPERS:
        caller = caller.f_back
    return caller


def _room(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "").partition(".")[0]


def _to_numpy(leaf: Any) -> Any:
    is_number = isinstance(leaf, jax.Array) and not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(leaf) if is_number else leaf


def _refuse_traced(name: str, arguments: Any) -> None:
    if is_traced(arguments):
        raise ArgumentError(
            "jax_enable_x64",
            f"a call of `{name}` under jit, vmap or grad in 32-bit mode",
            "64-bit mode around the whole computation: `with jax.enable_x64(True): ...`",
        )


def _check_finite(result: Any, subject: str, remedy: str) -> None:
    for leaf in jax.tree.leaves(result):
        if isinstance(leaf, np.ndarray | float) and not np.isfinite(leaf).all():
            raise BlowUpError(f"{subject} leaves the finite numbers: {remedy}.")
