"""Compiling less: most programs run once, and in less time than it takes to compile them."""

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

import jax
from jax.core import eval_context

from ._entry import is_traced

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_WORTH_KEEPING = 0.1  # seconds of compilation
# XLA's older code generator: it takes a quarter to a half less time, for programs that run about as fast.
_IN_HASTE: dict[str, str | bool] = {"xla_cpu_use_fusion_emitters": False}


def compiled_in_haste(
    static_argnums: Sequence[int],
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """`jax.jit` for large programs of theory, as a decorator. Under a transformation of the caller's it is `jax.jit` itself."""

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        in_haste = jax.jit(function, static_argnums=static_argnums, compiler_options=_IN_HASTE)
        within_another = jax.jit(function, static_argnums=static_argnums)

        @functools.wraps(function)
        def compiled(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            if is_traced((args, kwargs)):
                return within_another(*args, **kwargs)
            with eval_context():  # there are numbers to compute, even where a caller traces others
                return in_haste(*args, **kwargs)

        return compiled

    return decorate


def compilation_cache(directory: str | Path | None = None) -> Path:
    """Keep compiled programs for the next run, in `directory` or in the user's cache: one line at the head of a script or notebook.

    `finitewidth` on the command line does this by itself. JAX's own setting, if there is one, is left as it is.

        >>> import finitewidth as fw
        >>> fw.compilation_cache().name
        'finitewidth'
    """
    known = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    if known is not None and directory is None:
        return Path(known)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    chosen = Path(home) / "finitewidth" if directory is None else Path(directory)
    jax.config.update("jax_compilation_cache_dir", str(chosen))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", _WORTH_KEEPING)
    return chosen
