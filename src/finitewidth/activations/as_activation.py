"""The activation that a user means: a name, an `Activation`, or a callable, checked."""

import functools
from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from .._arrays import Array
from .._entry import entry
from .._errors import ArgumentError, DomainError, UnknownNameError
from ..gaussian.derivatives import sampled
from ..gaussian.places import KINK_REACH
from .activation import Activation
from .families import scale_invariant_like
from .find_kinks import find_kinks
from .nan_derivatives import WithoutDerivative, guarded
from .registry import ACTIVATIONS

_SAME_KINK = 1e-8  # a declared kink and one that was found
_FAR = [-1e9, -1e6, -1e4, -3e2, -90.0, 90.0, 3e2, 1e4, 1e6, 1e9]  # beyond where kinks are looked for
# Half-lines are compared wherever kinks are looked for, as closely: a narrow bump has no kinks.
_EVERYWHERE = np.concatenate([np.arange(-KINK_REACH, KINK_REACH, 0.01) + 0.0042, _FAR])


@functools.lru_cache(maxsize=256)  # a network made anew, as `replace` does, compiles nothing
def _there_and_back(value: Callable[[Array], Array]) -> Callable[[Array], tuple[Array, Array]]:
    """Of entries in two orders, in one program."""
    return jax.jit(lambda z: (value(z), value(z[::-1])))


@entry()
@jax.ensure_compile_time_eval()
def _check(activation: Activation, name: str) -> Activation:
    """Refuse what cannot be averaged: not traceable, not elementwise, not the same at every call, not real, not finite near zero."""
    probe = jnp.asarray(np.array([0.41, -0.59, 0.81, -0.99, 0.01, -0.19]))  # in no order that a function might keep
    try:
        compiled = _there_and_back(activation.value)
        values, reversed_ = compiled(probe)
    except Exception as error:  # the caller's own function may raise anything
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
    others_changed = jnp.asarray(np.where(np.arange(6) == 0, probe, 0.5))
    if not np.allclose(np.asarray(compiled(others_changed)[0])[0], np.asarray(values)[0], rtol=1e-6, atol=0.0):
        raise ArgumentError(name, "a callable whose value depends on the other entries", "an elementwise function")
    if not np.allclose(reversed_[::-1], values, rtol=1e-6, atol=1e-9 * float(np.abs(values).max())):
        got = "a callable that depends on the order of entries, or on earlier calls"
        raise ArgumentError(name, got, "an elementwise function, the same at every call")
    return _with_kinks(activation)


def _with_kinks(activation: Activation) -> Activation:
    """The same with all its kinks; one that consists of two half-lines is known in closed form."""
    if type(activation) is not Activation or isinstance(activation.value, WithoutDerivative):
        return activation
    declared = activation.kinks
    undeclared = [at for at in find_kinks(activation.value) if all(abs(at - kink) > _SAME_KINK for kink in declared)]
    known = _half_lines(activation) if {*declared, *undeclared} <= {0.0} else None
    if known is not None:
        return known
    kinks = tuple(sorted({*declared, *undeclared})) if undeclared else declared
    value = guarded(activation.value, kinks)
    return (
        activation if (value, kinks) == (activation.value, declared) else replace(activation, value=value, kinks=kinks)
    )


def _half_lines(activation: Activation) -> Activation | None:
    """The closed form of two half-lines, looked for through the program that is compiled already."""

    def value(z: Array) -> Array:
        return sampled(activation.value, np.asarray(z))[0]

    known = scale_invariant_like(replace(activation, value=value))
    if known is None:
        return None
    expected = known(jnp.asarray(_EVERYWHERE))
    return known if np.allclose(value(_EVERYWHERE), expected, rtol=1e-13, atol=0.0) else None


def as_activation(activation: str | Activation | Callable[[Array], Array], argument: str = "activation") -> Activation:
    """The `Activation` meant by a name, by an `Activation`, or by an elementwise JAX callable; errors name the `argument`.

    Examples:
        >>> fw.activations.as_activation("SiLU").formula
        'z/(1 + e^-z)'
    """
    if isinstance(activation, str):
        try:
            return ACTIVATIONS[activation.lower().replace("-", "_")]
        except KeyError:
            raise UnknownNameError(argument, activation, ACTIVATIONS) from None
    if isinstance(activation, Activation):
        return activation if activation in ACTIVATIONS.values() else _check(activation, argument)
    if callable(activation):
        return _check(Activation(activation, name=getattr(activation, "__name__", "custom").strip("<>")), argument)
    raise ArgumentError(argument, type(activation).__name__, "a name, an Activation or an elementwise JAX callable")
