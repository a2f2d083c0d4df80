"""What a network needs to know of its activation."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._errors import ArgumentError, DomainError, UnknownNameError
from .._precision import in_float64
from ..gaussian.function import Function
from .find_kinks import find_kinks

_SAME_KINK = 1e-8  # a declared kink and one that was found


@dataclass(frozen=True)
class Activation(Function):
    """An activation: a `Function` with a name, and its formula for people to read.

    Any elementwise JAX callable becomes one: `Activation(value=lambda z: z * jnp.exp(-z**2), name="mexican")`.
    Points where the function or a derivative jumps are its `kinks`; a network looks for those that are not declared.
    """

    name: str = field(default="custom", kw_only=True)
    formula: str = field(default="", kw_only=True)

    @in_float64
    def taylor(self, order: int = 5) -> Float[Array, " order+1"]:
        r"""Derivatives at zero, $\sigma_p = \sigma^{(p)}(0)$ for $p = 0..$`order` (PDLT section 5.3).

        `DomainError` where zero is a kink: there is no Taylor series.
        """
        if 0.0 in self.kinks:
            raise DomainError("activation", f"{self.name}, with a kink at zero", "an activation smooth at zero")
        return jnp.stack([self.derivative(p)(jnp.zeros(())) for p in range(order + 1)])


@in_float64
def _check(activation: Activation) -> Activation:
    """Refuse what cannot be averaged: not traceable, not elementwise, not real, not finite near zero."""
    probe = jnp.linspace(-1.0, 1.0, 6) + 0.01
    name = "activation"
    try:
        values = jax.jit(activation.value)(probe)
    except Exception as error:
        raise ArgumentError(
            name, f"a callable that JAX cannot trace ({type(error).__name__})", "an elementwise function of jax.numpy"
        ) from error
    if not hasattr(values, "shape") or values.shape != probe.shape:
        got = f"a callable of shape {probe.shape} -> {getattr(values, 'shape', type(values).__name__)}"
        raise ArgumentError(name, got, "an elementwise function, keeping the shape")
    if not jnp.issubdtype(values.dtype, jnp.floating):
        raise ArgumentError(name, f"a callable that returns {values.dtype}", "a real floating-point function")
    if not bool(np.isfinite(np.asarray(values)).all()):
        raise DomainError(name, "a callable that is NaN or infinite on [-1, 1]", "a finite function on the real line")
    if not np.allclose(np.asarray(activation.value(probe[:1])), np.asarray(values[:1]), rtol=1e-6):
        raise ArgumentError(name, "a callable whose value depends on the other entries", "an elementwise function")
    if any(not np.isfinite(kink) for kink in activation.kinks):
        raise DomainError("kinks", activation.kinks, "finite points")
    return _with_kinks(activation)


def _with_kinks(activation: Activation) -> Activation:
    """The same with all its kinks; one that consists of two half-lines is known in closed form."""
    from .families import scale_invariant_like  # families are activations

    if type(activation) is not Activation:
        return activation
    declared = activation.kinks
    undeclared = [at for at in find_kinks(activation.value) if all(abs(at - kink) > _SAME_KINK for kink in declared)]
    known = scale_invariant_like(activation) if {*declared, *undeclared} <= {0.0} else None
    if known is None and undeclared:
        return replace(activation, kinks=tuple(sorted({*declared, *undeclared})))
    return known or activation


def as_activation(activation: str | Activation | Callable[[Array], Array]) -> Activation:
    """The `Activation` meant by a name, by an `Activation`, or by an elementwise JAX callable."""
    from .registry import ACTIVATIONS  # the registry is made of activations

    if isinstance(activation, str):
        try:
            return ACTIVATIONS[activation.lower()]
        except KeyError:
            raise UnknownNameError("activation", activation, ACTIVATIONS) from None
    if isinstance(activation, Activation):
        return activation if activation in ACTIVATIONS.values() else _check(activation)
    if callable(activation):
        return _check(Activation(activation, name=getattr(activation, "__name__", "custom").strip("<>")))
    raise ArgumentError("activation", type(activation).__name__, "a name, an Activation or an elementwise JAX callable")
