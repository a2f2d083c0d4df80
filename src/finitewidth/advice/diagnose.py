"""`diagnose`: the signals of any JAX model by depth, against the theory of the nearest MLP or residual MLP."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from .._entry import entry
from .._errors import ArgumentError, DomainError, ShapeError
from .._result import Result
from .._validation import as_numbers
from ..expansion import flow
from ..networks import LayeredNetwork, as_layered
from .differences import grown_differences, while_small

_FACTOR = 10.0  # over all layers: less is no problem at any depth
_STEADY = 0.6  # of the change in the first half of the layers, in logarithms: the second half of a power of depth changes by less
_COLLAPSED = 0.99  # a correlation
_NOT_TRIED = (
    "Gradients were not looked at: that takes inputs that are floating-point numbers, and a function that answers nearly equal ones "
    "nearly alike."
)


@dataclass(frozen=True, repr=False)
class Diagnosis(Result):
    """What `diagnose` returns, one row for each named layer, in order. `str()` of it reads as a paragraph.

    - `layers`: their names; `mean_square`: of a layer's signals over inputs and neurons; `correlation`: the median over pairs of inputs.
    - `expected_mean_square`, `expected_correlation`: of infinitely wide networks like `nearest`, for the same inputs, from the first named
      layer on; `None` without one.
    - `differences`: the mean square of small differences between inputs, relative to the first named layer, as gradients grow on
      their way back from a layer; `None` where they cannot be tried, for inputs that are not floating-point numbers.
    - `problems`: "signals explode", "signals vanish", "inputs collapse", "gradients explode" and "gradients vanish" with depth;
      `advice`: what to change, one line each.
    """

    axes = ("layer",)

    mean_square: Float[np.ndarray, " layers"]
    correlation: Float[np.ndarray, " layers"]
    expected_mean_square: Float[np.ndarray, " layers"] | None
    expected_correlation: Float[np.ndarray, " layers"] | None
    differences: Float[np.ndarray, " layers"] | None
    layers: tuple[str, ...]
    problems: tuple[str, ...]
    advice: tuple[str, ...]

    def __str__(self) -> str:
        looked_at = "" if self.differences is not None else " in sizes and correlations of signals"
        head = f"Worth changing: {', '.join(self.problems)}." if self.problems else f"No problem found{looked_at}."
        return "\n".join([head, *self.advice])


@entry()
def diagnose(f: Callable[[Any, Any], Any], params: Any, x: Any, nearest: LayeredNetwork | None = None) -> Diagnosis:
    r"""How signals of one network change with depth, whatever it is made of, with verdicts and what to change.

    **Arguments:**

    - `f`: a function of `params` and `x` that returns the signals of its layers by name, in order: a dictionary
      `{"block_1": array, ...}` (or a list of pairs), arrays of shape (N, ...) with one row for each input. In Flax that is
      `model.apply(params, x, capture_intermediates=True)[1]`, flattened; in Equinox and others return what you keep. Pre-activations,
      or the residual stream, taken at the same place of every block.
    - `params`, `x`: what `f` takes; at least two inputs.
    - `nearest`: an `MLP` or `ResidualMLP` like it, for theory's curves: as many layers as are named, the first kernel read off the first
      named layer.

    Verdicts: over all layers the mean square of signals changes by more than a factor of ten, and as an exponential, the second half of the
    layers by as much as the first or nearly; or the median correlation of two inputs rises above 0.99 from below; or that of small
    differences between inputs changes as much, where signals do not: `f` is called a few times more with `x` a thousandth beside.

    Examples:
        >>> def layers(W, x):
        ...     return {"first": x @ W, "second": np.tanh(x @ W) @ W, "third": np.tanh(np.tanh(x @ W) @ W) @ W}
        >>> fw.diagnose(layers, 0.3 * np.eye(2), np.array([[1.0, 0.5], [0.3, -1.0]])).problems
        ('signals vanish',)
    """
    names, signals = _named(_called(f, params, x))
    squares, correlations, first = zip(
        *(_kernel(signal, name) for name, signal in zip(names, signals, strict=True)), strict=True
    )
    mean_square, correlation = np.asarray(squares), np.asarray(correlations)
    expected = (None, None) if nearest is None else _expected(as_layered(nearest, "nearest"), first[0], len(names))
    relative = grown_differences(lambda near: _named(_called(f, params, near))[1], x, signals)
    if relative is None:
        differences = None
        problems, advice = verdicts(mean_square, correlation, np.ones(1))
        advice = (*advice, _NOT_TRIED)
    else:
        differences = relative * mean_square / (relative[0] * mean_square[0])
        problems, advice = verdicts(mean_square, correlation, differences[: while_small(relative)])
    if nearest is not None and expected[0] is not None:
        advice = (*advice, _against_theory(mean_square, expected[0], nearest))
    return Diagnosis(mean_square, correlation, *expected, differences, names, problems, advice)


def _called(f: Callable[[Any, Any], Any], params: Any, x: Any) -> Any:
    if not callable(f):
        raise ArgumentError("f", type(f).__name__, "a function of params and x")
    if getattr(x, "dtype", None) == np.dtype(
        bool
    ):  # a mask, most likely; whoever has such features makes numbers of them
        raise DomainError("x", "an array of booleans", "numbers")
    try:
        return f(params, x)
    except Exception as error:  # of a function that is not ours
        raise ArgumentError(
            "f", f"a function that fails on params and x ({type(error).__name__}: {error})", "one that takes them"
        ) from error


def _named(found: Any) -> tuple[tuple[str, ...], list[np.ndarray]]:
    if isinstance(found, Mapping):
        pairs = list(found.items())
    elif isinstance(found, list | tuple) and all(isinstance(each, tuple) and len(each) == 2 for each in found):
        pairs = list(found)
    else:
        raise ArgumentError(
            "f", f"a function that returns {type(found).__name__}", "a dictionary of signals by the names of layers"
        )
    if len(pairs) < 2:
        raise ShapeError("f", f"{len(pairs)} named layers", "at least two, to compare")
    return tuple(str(name) for name, _ in pairs), [_real(signal, f"f, layer {name}") for name, signal in pairs]


def _real(signal: Any, argument: str) -> np.ndarray:
    numbers = np.asarray(as_numbers(signal, argument))
    if np.iscomplexobj(numbers):
        raise DomainError(argument, "complex signals", "real ones")
    return numbers.astype(float)


def _kernel(signal: np.ndarray, name: str) -> tuple[float, float, np.ndarray]:
    """Mean square, median correlation of pairs, and the kernel of one layer's signals."""
    if signal.ndim < 2 or len(signal) < 2:
        raise ShapeError(f"f, layer {name}", f"shape {signal.shape}", "(N, ...) with at least two inputs")
    flat = signal.reshape(len(signal), -1)
    if not np.isfinite(flat).all():
        raise DomainError(f"f, layer {name}", "NaN or infinite signals", "finite ones: look at the layers before it")
    kernel = flat @ flat.T / flat.shape[1]
    sizes = np.sqrt(np.diagonal(kernel))
    if not (sizes > 0).all():
        raise DomainError(f"f, layer {name}", "an input whose signals are all zero", "signals that have not died")
    pairs = (kernel / np.outer(sizes, sizes))[np.triu_indices(len(kernel), 1)]
    return float(np.mean(np.diagonal(kernel))), float(np.median(pairs)), kernel


def _expected(net: LayeredNetwork, first: np.ndarray, layers: int) -> tuple[np.ndarray, np.ndarray]:
    """Of infinitely wide networks from the same first kernel, PDLT (4.118)."""
    if net.depth != layers:
        raise ShapeError("nearest", f"{net.depth} layers", f"{layers}, as many as are named")
    K = np.asarray(flow(net, kernel=first, through="kernel").K)
    sizes = np.sqrt(np.diagonal(K, axis1=1, axis2=2))
    pairs = (K / (sizes[:, :, None] * sizes[:, None, :]))[:, *np.triu_indices(K.shape[1], 1)]
    return np.mean(sizes**2, axis=1), np.median(pairs, axis=1)


def verdicts(
    mean_square: Float[np.ndarray, " layers"],
    correlation: Float[np.ndarray, " layers"],
    differences: Float[np.ndarray, " small"],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Problems, and what to change; `differences` for as long as they are small."""
    factor, per_layer, steady = _change(mean_square)
    problems, advice = [], []
    if factor > _FACTOR and steady:
        problems.append("signals explode")
        advice.append(
            f"Their mean square grows by a factor of {factor:.3g}, {per_layer:.3g} a layer: divide the variance of weights by about "
            f"{per_layer:.3g}, or "
            "take what `criticality(activation)` says; for residual branches see `advice.tune_block`."
        )
    if factor < 1 / _FACTOR and steady:
        problems.append("signals vanish")
        advice.append(
            f"Their mean square falls by a factor of {1 / factor:.3g}, {1 / per_layer:.3g} a layer: multiply the variance of weights by "
            f"about {1 / per_layer:.3g}, or take what `criticality(activation)` says."
        )
    if correlation[-1] > _COLLAPSED >= correlation[0]:
        problems.append("inputs collapse")
        advice.append(
            f"Two inputs of correlation {correlation[0]:.3g} leave with {correlation[-1]:.4g}: fewer layers, skip connections "
            "(`recommend` says how strong), or smaller biases keep them apart."
        )
    of_gradients = _of_gradients(differences)
    if of_gradients is not None and f"signals {of_gradients[0]}" not in problems:  # else they go with the signals
        problems.append(f"gradients {of_gradients[0]}")
        advice.append(of_gradients[1])
    return tuple(problems), tuple(advice)


def _change(values: Float[np.ndarray, " layers"]) -> tuple[float, float, bool]:
    """The factor over all layers and by layer, and whether it is an exponential of depth, not a power."""
    factor = float(values[-1] / values[0])
    middle = (len(values) - 1) / 2
    half = np.interp(middle, np.arange(len(values)), np.log(values / values[0]))
    steady = np.log(factor) / half - 1 >= _STEADY if half else True
    return factor, factor ** (1 / max(1, len(values) - 1)), bool(steady)


def _of_gradients(differences: Float[np.ndarray, " small"]) -> tuple[str, str] | None:
    factor, per_layer, steady = _change(differences)
    if 1 / _FACTOR <= factor <= _FACTOR or not steady:
        return None
    within = f"within {len(differences)} layers, {{:.3g}} a layer, and gradients as much on their way back"
    if factor > _FACTOR:
        return "explode", (
            f"Small differences between inputs grow by a factor of {factor:.3g} in mean square {within.format(per_layer)}: take a smaller "
            "variance of weights, such as `criticality(activation)` says, or weaker residual branches."
        )
    return "vanish", (
        f"Small differences between inputs shrink by a factor of {1 / factor:.3g} in mean square {within.format(1 / per_layer)}: a "
        "larger variance of weights or skip connections keep them up, and smaller biases where activations saturate."
    )


def _against_theory(found: np.ndarray, expected: np.ndarray, net: LayeredNetwork) -> str:
    ratio = float(found[-1] / expected[-1])
    return f"In the last layer the mean square is {ratio:.3g} times that of infinitely wide networks like {net!r}."
