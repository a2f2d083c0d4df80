"""The tangent kernel of any JAX function of a parameter pytree."""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry, refuse_traced
from .._errors import ArgumentError, DomainError, ShapeError, UnknownNameError
from .._validation import as_count, as_floats, as_numbers, is_concrete
from .ntk_factors import Factors, factors, numbers_held, own_kernel, products

Outputs = Literal["full", "diagonal", "trace"]

_MEMORY = 2**29  # bytes for the derivatives of a block, roughly
_TEMPORARIES = 2  # what a backward pass takes on the way, in units of its result


@entry(remedy="derivatives of `f` overflow, or are NaN, at these parameters", float64=False)
def empirical_ntk(
    f: Callable[[Any, Array], Array],
    params: Any,
    x1: Any,
    x2: Any = None,
    *,
    outputs: Outputs = "full",
    batch_size: int | None = None,
    rates: Any = None,
) -> Float[Array, "N1 N2 ..."]:
    r"""The tangent kernel $\sum_\mu\lambda_\mu\,\partial_\mu f_i(x_1)\,\partial_\mu f_j(x_2)$ of `f` at `params`, PDLT (8.5).

    **Arguments:**

    - `f`: a function of `(params, x)` in JAX, from inputs (N, ...) to outputs (N, k) or (N,), each sample on its own.
    - `params`: any pytree of real arrays.
    - `x1`, `x2`: inputs, one sample along the first axis; `x2` is `x1` unless given.
    - `outputs`: `"full"` for all pairs of outputs, shape (N1, N2, k, k); `"diagonal"` for each with itself, shape (N1, N2, k);
      `"trace"` for the sum of these, shape (N1, N2). Where `f` has outputs (N,), the shape is always (N1, N2).
    - `batch_size`: samples whose derivatives are held at a time; by default as many as fit some 500 megabytes. If even one
      sample's do not, its outputs are taken a few at a time: memory never grows as outputs times parameters times samples.
    - `rates`: relative learning rates $\lambda_\mu$, a pytree like `params` of numbers or arrays; all one by default.

    Weights that enter as the matrix of one matrix product or as the filter of one convolution are never differentiated by:
    products of what they receive and of gradients of what they give suffice. All others are differentiated by as usual.
    Computes in the precision of `params`, under `jit` too: 64-bit ones need no setting of JAX.
    `f` is compiled once: pass the same function again, not a new lambda.

    Examples:
        >>> fw.empirical_ntk(lambda w, x: x @ w, np.ones((2, 1)), [[1.0, 2.0]], outputs="trace").tolist()
        [[5.0]]
    """
    if not isinstance(outputs, str) or outputs not in get_args(Outputs):
        raise UnknownNameError("outputs", outputs, get_args(Outputs))
    in_float64 = any(leaf.dtype == np.float64 for leaf in _checked_leaves(params))
    if in_float64 and not jax.config.jax_enable_x64:  # type: ignore[attr-defined]  # JAX makes its settings at run time
        refuse_traced("empirical_ntk", (params, x1, x2, rates))
        with jax.enable_x64(True):
            return empirical_ntk(f, params, x1, x2, outputs=outputs, batch_size=batch_size, rates=rates)
    params = jax.tree.map(jnp.asarray, params)
    first = _as_samples(x1, "x1")
    second = first if x2 is None else _as_samples(x2, "x2")
    if first.shape[1:] != second.shape[1:]:
        raise ShapeError("x2", f"samples of shape {second.shape[1:]}", f"{first.shape[1:]}, as in `x1`")
    of_leaves = _as_rates(rates, params)
    chosen = None if batch_size is None else as_count(batch_size, "batch_size")
    width, once, each = _sizes(f, jax.tree.map(_shape, params), _shape(first, 1), tuple(map(_shape, of_leaves)))
    _check_separate(f, params, first)

    item = max(leaf.dtype.itemsize for leaf in jax.tree.leaves(params))
    fits = _MEMORY // (item * _TEMPORARIES)
    rows = max(1, min(width or 1, (fits - once) // each))
    samples = max(1, fits // (once + rows * each)) if chosen is None else chosen
    task = _Task(f, params, of_leaves, outputs, samples, rows)
    result = _kernel(task, first, None if x2 is None else second, width or 1)
    return result if width is not None else result.reshape(result.shape[:2])


class _Task(NamedTuple):
    f: Callable[[Any, Array], Array]
    params: Any
    rates: list[Array]
    outputs: str
    samples: int
    """Samples in a block."""
    rows: int
    """Outputs in a block."""

    def factors(self, x: Array, block: "_Block") -> Factors:
        """The derivatives of a block."""
        return factors(self.f, self.params, self.rates, self._filled(x, block), _numbers(block.rows))

    def with_itself(self, x: Array, block: "_Block") -> Array:
        """The kernel of a block with itself, samples first."""
        filled = self._filled(x, block)
        found = own_kernel(self.f, self.params, self.rates, filled, _numbers(block.rows), self.outputs)
        return self._trimmed(found, block, block)

    def between(self, first: Factors, second: Factors, left: "_Block", right: "_Block") -> Array:
        """The kernel between two blocks, samples first."""
        return self._trimmed(products(first, second, self.rates, self.outputs), left, right)

    def _filled(self, x: Array, block: "_Block") -> Array:
        """A block's samples; a last one that is not full is filled up, so that one compiled program serves all."""
        size = _length(_slices(len(x), self.samples)[0])
        return x if size == len(x) else x[np.minimum(block.samples.start + np.arange(size), len(x) - 1)]

    def _trimmed(self, found: Array, left: "_Block", right: "_Block") -> Array:
        found = found.transpose(0, 2, 1, 3) if self.outputs == "full" else found
        return found[: _length(left.samples), : _length(right.samples)]


class _Block(NamedTuple):
    samples: slice
    rows: slice

    def is_before(self, other: "_Block") -> bool:
        return (self.rows.start, self.samples.start) < (other.rows.start, other.samples.start)


def _kernel(task: _Task, x1: Array, x2: Array | None, width: int) -> Any:
    """Block by block; with only one set of samples each pair of blocks once, for the kernel is symmetric."""
    others = x1 if x2 is None else x2
    lefts, rights = (
        [_Block(*block) for block in itertools.product(_slices(len(x), task.samples), _slices(width, task.rows))]
        for x in (x1, others)
    )
    if len(lefts) == len(rights) == 1:
        left, right = lefts[0], rights[0]
        if x2 is None:
            return task.with_itself(x1, left)
        return task.between(task.factors(x1, left), task.factors(others, right), left, right)
    shapes = {"full": (width, width), "diagonal": (width,), "trace": ()}
    result = None
    for left in lefts:
        first = task.factors(x1, left)
        for right in rights:
            if (task.outputs != "full" and left.rows != right.rows) or (x2 is None and right.is_before(left)):
                continue
            same = x2 is None and left == right
            found = (
                task.with_itself(x1, left) if same else task.between(first, task.factors(others, right), left, right)
            )
            if result is None:
                zeros = np.zeros if is_concrete(found) else jnp.zeros
                result = zeros((len(x1), len(others), *shapes[task.outputs]), found.dtype)
            result = _added(result, found, left, right)
            if x2 is None and not same:
                mirrored = found.transpose(1, 0, *((3, 2) if task.outputs == "full" else range(2, found.ndim)))
                result = _added(result, mirrored, right, left)
    return result


def _added(result: Any, found: Array, left: _Block, right: _Block) -> Any:
    where = (left.samples, right.samples, left.rows, right.rows)[: result.ndim]
    if isinstance(result, np.ndarray):
        result[where] += np.asarray(found)
        return result
    return result.at[where].add(found)


def _slices(total: int, size: int) -> list[slice]:
    """As few slices of at most `size` as there can be, of equal length but for the last."""
    length = math.ceil(total / math.ceil(total / size))
    return [slice(start, min(start + length, total)) for start in range(0, total, length)]


def _length(of: slice) -> int:
    return of.stop - of.start


def _numbers(of: slice) -> np.ndarray:
    return np.arange(of.start, of.stop)


def _shape(array: Any, first_axis: int = 0) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape[first_axis:], array.dtype)


def _sizes(f: Any, params: Any, sample: jax.ShapeDtypeStruct, rates: tuple) -> tuple[int | None, int, int]:
    """The number k of outputs, `None` for outputs (N,), and how many numbers the derivatives at a sample take: once, and for
    each output."""
    leaves, structure = jax.tree.flatten(params)
    try:
        return _cached_sizes(f, structure, tuple(leaves), sample, rates)
    except TypeError as error:
        if callable(f) and "unhashable" not in str(error):
            raise
        raise ArgumentError(
            "f", f"{type(f).__name__} ({error})", "a function of (params, x) that can be hashed"
        ) from error


@functools.lru_cache(maxsize=64)
def _cached_sizes(f: Any, structure: Any, leaves: tuple, sample: Any, rates: tuple) -> tuple[int | None, int, int]:
    params = jax.tree.unflatten(structure, leaves)
    shapes = []
    for count in (1, 2):
        inputs = jax.ShapeDtypeStruct((count, *sample.shape), sample.dtype)
        try:
            out = jax.eval_shape(f, params, inputs)
        except Exception as error:  # the caller's own function may raise anything
            raise ArgumentError(
                "f",
                f"a function that fails on inputs of shape {inputs.shape} ({type(error).__name__}: {error})",
                _WANTED,
            ) from error
        if not isinstance(out, jax.ShapeDtypeStruct) or out.ndim not in (1, 2) or out.shape[0] != count:
            raise ShapeError("f", f"outputs {getattr(out, 'shape', out)} for inputs {inputs.shape}", _WANTED)
        if not jnp.issubdtype(out.dtype, jnp.floating):
            raise ArgumentError("f", f"outputs of type {out.dtype}", "real floating-point outputs")
        shapes.append(out.shape[1:])
    if shapes[0] != shapes[1]:
        raise ShapeError("f", f"{shapes[0]} outputs for one sample and {shapes[1]} for two", _WANTED)
    one = jax.ShapeDtypeStruct((1, *sample.shape), sample.dtype)
    of_one = jax.eval_shape(functools.partial(factors, f), params, list(rates), one, np.arange(1))
    return (shapes[0][0] if shapes[0] else None, *numbers_held(of_one))


_WANTED = "a function of (params, x) from inputs (N, ...) to outputs (N, k) or (N,)"


def _check_separate(f: Any, params: Any, x: Array) -> None:
    if len(x) > 1 and all(map(is_concrete, (x, *jax.tree.leaves(params)))) and not bool(_is_separate(f, params, x)):
        raise ArgumentError("f", "outputs of a sample that depend on the samples beside it", _WANTED)


@functools.partial(jax.jit, static_argnums=0)
def _is_separate(f: Any, params: Any, x: Array) -> Array:
    together, alone = f(params, x[:2]), f(params, x[:1])
    finite = jnp.isfinite(alone).all()  # what is not finite is reported as such later
    tolerance = jnp.sqrt(jnp.finfo(alone.dtype).eps) * jnp.abs(together).max()
    return (jnp.abs(together[:1] - alone).max() <= tolerance) | ~finite


def _checked_leaves(params: Any) -> list[Array]:
    leaves = jax.tree.leaves(params)
    if not leaves:
        raise ArgumentError("params", "no arrays", "a pytree of real arrays")
    for leaf in leaves:
        if not hasattr(leaf, "dtype") or not jnp.issubdtype(leaf.dtype, jnp.floating):
            got = getattr(leaf, "dtype", type(leaf).__name__)
            raise ArgumentError("params", f"a leaf of type {got}", "a pytree of real floating-point arrays")
    return leaves


def _as_samples(x: Any, argument: str) -> Array:
    array = jnp.asarray(as_numbers(x, argument))
    if array.ndim == 0 or 0 in array.shape:
        raise ShapeError(argument, f"shape {array.shape}", "shape (N, ...) with samples along the first axis")
    if jnp.issubdtype(array.dtype, jnp.floating) and is_concrete(array) and not np.isfinite(np.asarray(array)).all():
        raise DomainError(argument, "a NaN or infinite entry", "finite numbers")
    return array


def _as_rates(rates: Any, params: Any) -> list[Array]:
    leaves, structure = jax.tree.flatten(params)
    if rates is None:
        return [jnp.ones((), leaf.dtype) for leaf in leaves]
    found, given = jax.tree.flatten(rates)
    if given != structure:
        raise ShapeError("rates", f"the structure {given}", f"that of `params`, {structure}")
    found = [as_floats(rate, "rates") for rate in found]
    for rate, leaf in zip(found, leaves, strict=True):
        shape = rate.shape
        fits = len(shape) <= leaf.ndim and all(
            n in (1, m) for n, m in zip(reversed(shape), reversed(leaf.shape), strict=False)
        )
        if not fits:
            raise ShapeError("rates", f"an array of shape {shape}", f"a number or an array of shape {leaf.shape}")
        if is_concrete(rate) and not (np.asarray(rate) >= 0).all():
            raise DomainError("rates", "a negative rate", "rates >= 0")
    return [jnp.asarray(rate, leaf.dtype) for rate, leaf in zip(found, leaves, strict=True)]
