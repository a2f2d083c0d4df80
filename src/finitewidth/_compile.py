"""Programs that are compiled in haste: most of them run once, and in less time than it takes to compile them."""

import functools
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

import jax
from jax.core import eval_context

from ._entry import is_traced

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

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
