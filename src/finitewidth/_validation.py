"""Checks shared by all rooms. Values are inspected only when concrete, so the checks pass through `jit` and `grad`."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ._arrays import Array, at_hand
from ._errors import ArgumentError, DomainError, ShapeError
from ._jax import Tracer
from ._signature import described, is_real, type_of


def is_concrete(value: Any) -> bool:
    """Whether `value` holds numbers now, rather than being traced by `jit` or `grad`."""
    return not isinstance(value, Tracer)


def as_numbers(value: Any, argument: str) -> Array | np.ndarray:
    """`value` as an array of numbers of any type: JAX's if it is made of those, which may be traced, else NumPy's."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise DomainError(argument, "an array with masked entries", "all of its numbers: drop or fill what is masked")
    of_jax = any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(value))
    try:
        array = jnp.asarray(value) if of_jax else np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ShapeError(argument, f"a ragged {type(value).__name__}", "an array of real numbers") from error
    except (
        RuntimeError
    ) as error:  # a tensor of another library that does not become an array: PyTorch's says why, and what does
        raise ArgumentError(
            argument, f"{type_of(value)} that is no array ({error})", "an array of real numbers"
        ) from error
    if not is_real(array.dtype) and not jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise ShapeError(argument, f"{array.dtype} entries", "an array of real numbers")
    return array


def as_floats(value: Any, argument: str) -> Array:
    """`value` as a real floating-point array without NaN or infinity: NumPy's, unless it is being traced."""
    numbers = at_hand(as_numbers(value, argument))
    if jnp.issubdtype(numbers.dtype, jnp.complexfloating):
        raise DomainError(argument, "complex numbers", "real numbers")
    array = numbers.astype(jnp.result_type(float))
    if isinstance(array, np.ndarray) and not np.isfinite(array).all():
        raise DomainError(argument, "a NaN or infinite entry", "finite numbers")
    return array


def as_elementwise(function: Any, argument: str, of: int = 1) -> Callable[..., Array]:
    """A function that JAX can trace and that keeps the shape of its arguments, of which there are so many."""
    probe = jax.ShapeDtypeStruct((3,), jnp.result_type(float))
    try:
        values = jax.eval_shape(function, *[probe] * of)
    except Exception as error:  # the caller's own function may raise anything
        got = (
            f"a callable that JAX cannot trace ({type(error).__name__})" if callable(function) else described(function)
        )
        raise ArgumentError(argument, got, "an elementwise function of jax.numpy") from error
    if getattr(values, "shape", None) != probe.shape or not jnp.issubdtype(values.dtype, jnp.floating):
        got = f"a callable of shape {probe.shape} -> {getattr(values, 'shape', type(values).__name__)}"
        raise ArgumentError(argument, got, "an elementwise function, real and keeping the shape")
    return function


def tried(function: Any, at: Any, argument: str) -> Array:
    """What a function makes of numbers that are at hand, NumPy's: JAX would clamp an index that is out of range, and go on."""
    try:
        with jax.ensure_compile_time_eval():
            found = function(np.asarray(at))
        values = found if isinstance(found, Tracer) else np.asarray(found)  # it may hold what a caller traces
    except Exception as error:  # the caller's own function may raise anything
        got = f"a function that fails ({type(error).__name__}: {error})" if callable(function) else described(function)
        raise ArgumentError(argument, got, f"a function of an array of shape {np.shape(at)}") from error
    if not jnp.issubdtype(values.dtype, jnp.floating) and not jnp.issubdtype(values.dtype, jnp.integer):
        raise ArgumentError(argument, f"a function that returns {values.dtype}", "one that returns real numbers")
    return values


def as_count(value: Any, argument: str, *, at_least: int = 1) -> int:
    """`value` as an integer not below `at_least`."""
    try:
        count = operator.index(value)
        if isinstance(value, bool | np.bool_):
            raise TypeError
    except TypeError:
        raise DomainError(argument, described(value), f"an integer >= {at_least}") from None
    if count < at_least:
        raise DomainError(argument, count, f"an integer >= {at_least}")
    if count >= 2**63:
        raise DomainError(argument, count, "less than 2^63")
    return count


def as_flag(value: Any, argument: str) -> bool:
    """True or False; a word that says no would count as True."""
    if not isinstance(value, bool | np.bool_):
        raise DomainError(argument, described(value), "True or False")
    return bool(value)


def as_seed(seed: Any) -> int:
    """A seed of a size that random keys take."""
    count = as_count(seed, "seed", at_least=0)
    if count >= 2**63:
        raise DomainError("seed", count, "less than 2^63")
    return count


def as_ensemble(networks: Any, seed: Any, *, at_least: int = 1) -> tuple[int, int]:
    """The number of networks to draw, which random keys must be able to count, and the seed."""
    count = as_count(networks, "networks", at_least=at_least)
    if count >= 2**32:
        raise DomainError("networks", count, "less than 2^32")
    return count, as_seed(seed)


def as_number(value: Any, argument: str, *, low: float = -math.inf, high: float = math.inf) -> float:
    """`value` as one finite float in the closed interval [low, high]."""
    try:
        if isinstance(value, str | bytes | bool | np.bool_) or np.ndim(value) or np.ma.is_masked(value):
            raise TypeError
        if isinstance(value, np.ndarray | np.generic) and not is_real(value.dtype):
            raise TypeError  # NumPy would drop an imaginary part, and count nanoseconds
        number = float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise DomainError(argument, described(value), "one real number") from None
    if not math.isfinite(number) or not low <= number <= high:
        raise DomainError(argument, number, _interval(low, high))
    return number


def _interval(low: float, high: float) -> str:
    if low == np.finfo(float).tiny and high == math.inf:
        return "a positive number"
    return f"a finite number in [{low}, {high}]"


def as_inputs(x: Any, argument: str, features: int | None = None) -> Float[Array, "N n_0"]:
    """Inputs with one sample a row. A zero row is refused by the networks that have no bias, not here."""
    array = as_floats(x, argument)
    if array.ndim != 2 or 0 in array.shape:
        raise ShapeError(argument, f"shape {array.shape}", "shape (N, n_0) with one sample a row")
    if features is not None and array.shape[1] != features:
        raise ShapeError(argument, f"{array.shape[1]} features a sample", f"{features}, the network's n_0")
    return array


def as_covariance(matrix: Any, argument: str, *, tolerance: float = 1e-10) -> Float[Array, "N N"]:
    """A symmetric positive semi-definite matrix (singular is fine), symmetrised."""
    array = as_floats(matrix, argument)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] == 0:
        raise ShapeError(argument, f"shape {array.shape}", "a square matrix (N, N)")
    if is_concrete(array):
        values = np.asarray(array)
        scale = max(float(np.abs(values).max()), np.finfo(values.dtype).tiny)
        if float(np.abs(values - values.T).max()) > tolerance * scale:
            raise DomainError(argument, "a matrix that is not symmetric", "a symmetric matrix")
        lowest = float(np.linalg.eigvalsh((values + values.T) / 2)[0])
        if lowest < -tolerance * scale * len(values):
            raise DomainError(argument, f"a matrix with eigenvalue {lowest:.3g}", "a positive semi-definite matrix")
    return (array + array.T) / 2


def per_layer(value: Any, argument: str, layers: int) -> Float[Array, " L"]:
    """One non-negative hyperparameter per layer, from a scalar or a sequence of length L."""
    array = as_floats(value, argument)
    if array.ndim > 1 or (array.ndim == 1 and array.shape[0] != layers):
        raise ShapeError(argument, f"shape {array.shape}", f"a scalar or one value per layer, shape ({layers},)")
    if is_concrete(array) and bool((np.asarray(array) < 0).any()):
        raise DomainError(argument, f"a negative value in {np.asarray(array).tolist()}", "values >= 0")
    return (np if isinstance(array, np.ndarray) else jnp).broadcast_to(array, (layers,))


def as_widths(widths: Sequence[int], argument: str) -> tuple[int, ...]:
    """Widths n_0..n_L, at least one layer."""
    try:
        counts = tuple(as_count(width, f"{argument}[{i}]") for i, width in enumerate(widths))
    except TypeError:
        raise ShapeError(argument, repr(widths), "a sequence n_0, n_1, ..., n_L") from None
    if len(counts) < 2:
        raise ShapeError(argument, f"{len(counts)} widths", "at least two: n_0 and n_1")
    return counts
