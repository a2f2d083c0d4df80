"""Compiling less: most programs run once, and in less time than it takes to compile them."""

import contextlib
import functools
import os
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import jax
import numpy as np

from ._entry import is_traced
from ._garbage import nothing_collected
from ._jax import asked_for_haste, eval_context

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_WORTH_KEEPING = 0.1  # seconds of compilation
# XLA's older code generator, few of LLVM's passes, one module: a third of the compiler's time, for programs that run about as fast.
_IN_HASTE: dict[str, Any] = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_backend_optimization_level": 1,
    "xla_cpu_parallel_codegen_split_count": 1,
}
_UNOPTIMISED = {
    **_IN_HASTE,
    "xla_backend_optimization_level": 0,
}  # half of that time again, but runs take two to four times as long


@functools.cache
def _known() -> frozenset[str]:
    """The names of these options that this compiler knows, each tried on a program that does nothing, at the first need.

    Their names come and go with versions of JAX, and a compiler refuses what it does not know. They are wishes: without one of them
    programs take longer to compile, and compute the same.
    """
    nothing = jax.jit(lambda x: x).lower(0.0)

    def knows(option: str) -> bool:
        try:
            nothing.compile(compiler_options={option: _IN_HASTE[option]})
        except Exception:  # whatever a later version makes of a name it does not know
            return False
        return True

    return frozenset(filter(knows, _IN_HASTE))


def _granted(wishes: dict[str, Any]) -> dict[str, Any]:
    return {option: value for option, value in wishes.items() if option in _known()}


def compiled_in_haste(
    *, light: int = 0, **how: Any
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """`jax.jit(..., **how)`, as a decorator, for programs that users wait for: compiled in haste where there are numbers to compute.

    A program may do so little for each number among its arguments, as for a layer that sees one input, that with up to `light` of them
    it is not optimised at all. Where numbers do not tell, a caller may, by `long_run`.

    Under a transformation of the caller's, on other machines than processors, and for who asks JAX for even less, it is `jax.jit` itself.
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        as_asked = jax.jit(function, **how)

        @functools.cache
        def hasty(few: bool) -> Callable[Parameters, Result]:
            return jax.jit(function, compiler_options=_granted(_UNOPTIMISED if few else _IN_HASTE), **how)

        @functools.wraps(function)
        def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            if is_traced((args, kwargs)):
                with nothing_collected():
                    return as_asked(*args, **kwargs)
            asked = asked_for_haste() or jax.default_backend() != "cpu"
            long = _LONG.get()
            few = light > 0 and _numbers((args, kwargs)) <= light if long is None else not long
            with eval_context(), nothing_collected():  # there are numbers to compute, even where a caller traces others
                return (as_asked if asked else hasty(few))(*args, **kwargs)

        return run

    return decorate


_LONG: ContextVar[bool | None] = ContextVar("long", default=None)


@contextlib.contextmanager
def long_run(is_long: bool) -> Iterator[None]:
    """Whether programs within have so much to do, in all their calls, that they are optimised; of callers within one another the first
    decides, who knows of all calls."""
    token = _LONG.set(is_long if _LONG.get() is None else _LONG.get())
    try:
        yield
    finally:
        _LONG.reset(token)


def _numbers(tree: Any) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(tree) if isinstance(leaf, np.ndarray | jax.Array))


def compilation_cache(directory: str | Path | None = None) -> Path:
    """Keep compiled programs for the next run, in `directory` or in the user's cache: one line at the head of a script or notebook.

    `finitewidth` on the command line does this by itself. JAX's own setting, if there is one, is left as it is. Processes may share it.

        >>> import finitewidth as fw
        >>> fw.compilation_cache().name
        'finitewidth'
    """
    # JAX writes entries in place, so one may be half written by another process: JAX then compiles the program, and nothing is lost.
    warnings.filterwarnings("ignore", message="Error reading persistent compilation cache entry")
    known = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]  # JAX makes its settings at run time
    if known is not None and directory is None:
        return Path(known)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    chosen = Path(home) / "finitewidth" if directory is None else Path(directory)
    jax.config.update("jax_compilation_cache_dir", str(chosen))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", _WORTH_KEEPING)
    return chosen
