"""What is used of JAX beyond its documented interface: each name stands here, with what is done in a version that lacks it.

CONTRIBUTING.md says why each is used; `tests/test_jax_interface.py` finds one that is used elsewhere.
"""

from typing import Any

import jax
import numpy as np


def type_when_traced() -> type:
    """What all that JAX traces has in common, found by tracing."""
    seen: list[type] = []

    def look(x: Any) -> Any:
        seen.append(type(x))
        return x

    jax.eval_shape(look, 0.0)
    jax.vmap(look)(np.zeros(1))
    jax.grad(look)(0.0)
    return next(kind for kind in seen[0].__mro__ if all(issubclass(other, kind) for other in seen))


try:
    from jax.core import Tracer
except ImportError:
    Tracer = type_when_traced()

try:
    from jax.core import eval_context
except ImportError:  # that it folds constants of programs while it traces them costs time
    from jax import ensure_compile_time_eval as eval_context

try:
    from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxpr_as_fun
except ImportError:  # programs cannot be read, and `realised.weight_uses` finds nothing in them
    ClosedJaxpr = Jaxpr = JaxprEqn = Literal = Var = jaxpr_as_fun = Any


def asked_for_haste() -> bool:
    """Whether the user told JAX to leave out optimisations."""
    try:
        return bool(jax.config.read("jax_disable_most_optimizations"))
    except (AttributeError, LookupError):
        return False


__all__ = [
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Tracer",
    "Var",
    "asked_for_haste",
    "eval_context",
    "jaxpr_as_fun",
    "type_when_traced",
]
