"""The door through which every public function is entered: precision, result, blow-up, warnings."""

import contextlib
import dataclasses
import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from ._errors import ArgumentError, BlowUpError, DomainError, ValidityWarning
from ._jax import Tracer
from ._signature import Signature
from ._table import values_of

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_PACKAGE = __name__.partition(".")[0]
_TOO_FAR = "an argument is too large or too small for what is computed from it; choose one closer to one"
_WRAPPERS = ("jaxtyping", "beartype", "equinox", "jax")  # whose frames may stand between the caller and the library


def entry(
    remedy: str | None = None, *, float64: bool = True, nan: bool = False
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """What every public function has in common, as a decorator.

    - It computes in float64, unless told otherwise, whatever the caller's global setting, which is left as it was.
      Arguments that are being traced belong to a computation of the caller's, whose backward pass would run outside this
      call: then the caller must have switched 64-bit types on, and is told so.
    - It computes with the promotions of types and shapes that it is written for, however strict the caller is with their own.
    - Arrays of the result are NumPy's, which keep their 64 bits in any mode; a result that is being traced is left alone.
    - Arguments of a wrong kind, such as text or True for a number, are refused by name.
    - A result with NaN in it is a `BlowUpError`, unless `nan` says that it has a meaning there; with a `remedy`, so is one that is
      infinite, and the error ends in the remedy.
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        signature = Signature(function)

        @functools.wraps(function)
        def entered(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            signature.check(args, kwargs)
            in_float64 = not float64 or jax.dtypes.canonicalize_dtype(float) == np.float64
            if not in_float64:
                refuse_traced(function.__name__, (args, kwargs))
            try:
                with contextlib.nullcontext() if in_float64 else jax.enable_x64(True), _own_arithmetic():
                    result = function(*args, **kwargs)
            except (OverflowError, ZeroDivisionError) as error:
                raise _blow_up(function, args, kwargs, remedy) from error
            except (MemoryError, jax.errors.JaxRuntimeError) as error:
                if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
                    raise _too_large(signature.signature.bind(*args, **kwargs).arguments, error) from error
                raise
            if not is_traced(result):
                result = jax.tree.map(_to_numpy, result)
                if not nan and not _has_numbers(result, finite=remedy is not None):
                    raise _blow_up(function, args, kwargs, remedy)
            return result

        return entered

    return decorate


@contextlib.contextmanager
def _own_arithmetic() -> Iterator[None]:
    """What overflows is found in the result; numbers of different types, and arrays of different shapes, meet as in NumPy."""
    with contextlib.ExitStack() as settings, np.errstate(all="ignore"):
        # Only where they differ: JAX keeps programs apart that were asked for under settings of a thread, though they be the usual ones.
        if jax.config.jax_numpy_dtype_promotion != "standard":  # type: ignore[attr-defined]  # JAX makes its settings at run time
            settings.enter_context(jax.numpy_dtype_promotion("standard"))
        if jax.config.jax_numpy_rank_promotion != "allow":  # type: ignore[attr-defined]
            settings.enter_context(jax.numpy_rank_promotion("allow"))
        yield


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


def refuse_traced(name: str, arguments: Any) -> None:
    """`ArgumentError` for what a caller traces in 32-bit mode, and should compute in 64 bits."""
    if is_traced(arguments):
        raise ArgumentError(
            "jax_enable_x64",
            f"a call of `{name}` under jit, vmap or grad in 32-bit mode",
            "64-bit mode around the whole computation: `with jax.enable_x64(True): ...`",
        )


def _has_numbers(result: Any, finite: bool) -> bool:
    """Whether nothing in it is NaN, nor, where it must be finite, infinite."""
    for leaf in jax.tree.leaves(result):
        for value in values_of(leaf).values() if dataclasses.is_dataclass(leaf) else (leaf,):
            if not isinstance(value, np.ndarray | float) or np.asarray(value).dtype.kind != "f":
                continue
            if np.isnan(value).any() or (finite and np.isinf(value).any()):
                return False
    return True


def _too_large(arguments: dict[str, Any], error: Exception) -> DomainError:
    """For what no check foresaw: names the largest argument."""

    def size(value: Any) -> int:
        return value if type(value) is int else sum(np.size(leaf) for leaf in jax.tree.leaves(value))

    name = max(arguments, key=lambda each: size(arguments[each]))
    return DomainError(name, f"one of size {size(arguments[name])}: {error}", "a smaller one, for less memory")


def _blow_up(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], remedy: str | None) -> BlowUpError:
    name, first = function.__name__, next(iter([*args, *kwargs.values()]), "")
    subject = f"`{type(first).__name__}`" if name == "__init__" else f"`{name}` of {first!r}"
    return BlowUpError(f"{subject} leaves the finite numbers: {remedy or _TOO_FAR}.")
