r"""Averages over the weights of one layer, with some of the weights inserted: correlators between layers.

Given the signals $\sigma_{j;\alpha}$ of layer $\ell$, the neurons of layer $\ell+1$ are independent Gaussians of covariance
$\widehat G_{12} = C_b + \frac{C_W}{n}\sum_j\sigma_{j;1}\sigma_{j;2}$, PDLT (8.49), and a weight that is inserted shifts them.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError, ShapeError
from .._validation import as_count, as_floats, as_number
from ..networks.layer import kernel_of
from ..realised.observable import Observable, check_observable
from .observables import gaussian_average
from .tangent_correlators import covariance_derivative

_MOST_VARIABLES = 4


@entry()
def weight_generating_function(
    function: Observable, signals: Any, source: Any, *, C_b: float = 0.0, C_W: float = 1.0
) -> Array:
    r"""$E\big[\mathcal O(z)\,e^{\sum_{ij}\mathcal J_{ij}W_{ij}}\big]$ over the weights and biases of one layer, PDLT (8.53):

    $$e^{\frac{C_W}{2n}\sum\mathcal J^2}\,\Big\langle\!\Big\langle\mathcal O\Big(z_{i;\alpha} +
      \tfrac{C_W}n\sum_j\mathcal J_{ij}\sigma_{j;\alpha}\Big)\Big\rangle\!\Big\rangle_{\widehat G}.$$

    Its derivatives in $\mathcal J$ at zero insert weights, PDLT (8.54)-(8.56).

    **Arguments:**

    - `function`: of the new preactivations, shape (N, m), one sample a row, to a number; smooth, of at most four variables.
    - `signals`: $\sigma_{j;\alpha}$, shape (N, n), one sample a row.
    - `source`: $\mathcal J_{ij}$, shape (m, n).

    Examples:
        >>> signals = [[1.0, 2.0]]
        >>> round(float(fw.expansion.weight_generating_function(lambda z: z[0, 0] ** 2, signals, [[0.1, 0.0]])), 6)
        2.508764
    """
    sigma = _as_signals(signals)
    J = as_floats(source, "source")
    if J.ndim != 2 or J.shape[1] != sigma.shape[1]:
        raise ShapeError("source", f"shape {J.shape}", f"shape (m, {sigma.shape[1]}): one weight a number")
    check_observable(function, (len(sigma), len(J)), "function")
    covariance, per_weight = _metric(sigma, C_b, C_W, len(J))
    shift = per_weight * sigma @ J.T
    average = gaussian_average(lambda z: function(z + shift), covariance, len(J))
    return jnp.exp(per_weight / 2 * jnp.sum(J**2)) * average


@entry()
def two_weight_insertions(
    function: Observable,
    signals: Any,
    weights: tuple[tuple[int, int], tuple[int, int]],
    *,
    neurons: int = 1,
    C_b: float = 0.0,
    C_W: float = 1.0,
) -> Array:
    r"""$E[\mathcal O(z)\,W_{i_3j_3}W_{i_4j_4}]$ over the weights and biases of one layer, exactly, PDLT (8.55):

    $$\delta_{i_3i_4}\delta_{j_3j_4}\tfrac{C_W}n\langle\!\langle\mathcal O\rangle\!\rangle +
      \big(\tfrac{C_W}n\big)^2\sum_{\gamma_3\gamma_4}\langle\!\langle\partial_{i_3\gamma_3}\partial_{i_4\gamma_4}
      \mathcal O\rangle\!\rangle_{\widehat G}\,\sigma_{j_3;\gamma_3}\sigma_{j_4;\gamma_4}.$$

    **Arguments:** as for `weight_generating_function`; `weights` $= (i_3, j_3), (i_4, j_4)$, and `neurons` is $m$.

    Examples:
        >>> signals = [[1.0, 2.0]]
        >>> round(float(fw.expansion.two_weight_insertions(lambda z: z[0, 0] ** 2, signals, ((0, 0), (0, 0)))), 6)
        1.75
    """
    sigma, count = _as_signals(signals), as_count(neurons, "neurons")
    check_observable(function, (len(sigma), count), "function")
    covariance, per_weight = _metric(sigma, C_b, C_W, count)
    if len(weights) != 2 or not all(hasattr(each, "__len__") and len(each) == 2 for each in weights):
        raise ShapeError("weights", repr(weights)[:60], "two pairs (neuron, signal)")
    (i3, j3), (i4, j4) = ((as_count(i, "weights", at_least=0), as_count(j, "weights", at_least=0)) for i, j in weights)
    if max(i3, i4) >= count or max(j3, j4) >= sigma.shape[1]:
        raise DomainError("weights", weights, f"indices below {count} neurons and {sigma.shape[1]} signals")
    from_third, to_fourth = ((jnp.eye(count)[i][:, None] * sigma[:, j]).ravel() for i, j in ((i3, j3), (i4, j4)))
    one_way = from_third[:, None] * to_fourth
    direction = one_way + one_way.T
    curvature = covariance_derivative(function, jnp.kron(jnp.eye(count), covariance), direction, count)
    contraction = per_weight * gaussian_average(function, covariance, count) if (i3, j3) == (i4, j4) else 0.0
    return contraction + per_weight**2 * curvature


@entry()
def one_weight_insertion(
    function: Observable,
    signals: Any,
    weight: tuple[int, int],
    *,
    neurons: int = 1,
    C_b: float = 0.0,
    C_W: float = 1.0,
) -> Array:
    r"""$E[\mathcal O(z)\,W_{ij}]$ over the weights and biases of one layer, exactly, PDLT (11.34):
    $\frac{C_W}n\sum_\delta\langle\!\langle\partial_{i\delta}\mathcal O\rangle\!\rangle_{\widehat G}\,\sigma_{j;\delta}$.

    **Arguments:** as for `weight_generating_function`; `weight` $= (i, j)$, and `neurons` is $m$.

    Examples:
        >>> round(float(fw.expansion.one_weight_insertion(lambda z: z[0, 0] ** 3, [[1.0, 2.0]], (0, 1))), 6)
        7.5
    """
    if not hasattr(weight, "__len__") or len(weight) != 2:
        raise ShapeError("weight", repr(weight)[:60], "one pair (neuron, signal)")
    (direction,), covariance, per_weight, count = _directions(function, signals, (weight,), neurons, C_b, C_W, "weight")
    return per_weight * gaussian_average(_along(function, direction), covariance, count)


@entry()
def three_weight_insertions(
    function: Observable,
    signals: Any,
    weights: tuple[tuple[int, int], tuple[int, int], tuple[int, int]],
    *,
    neurons: int = 1,
    C_b: float = 0.0,
    C_W: float = 1.0,
) -> Array:
    r"""$E[\mathcal O(z)\,W_{i_0j_0}W_{i_1j_1}W_{i_2j_2}]$ over the weights and biases of one layer, exactly, PDLT (11.35):

    $$\big(\tfrac{C_W}n\big)^2\sum_{\text{3 pairings}}\delta_{i_ai_b}\delta_{j_aj_b}\sum_\delta
      \langle\!\langle\partial_{i_c\delta}\mathcal O\rangle\!\rangle\sigma_{j_c;\delta} + \big(\tfrac{C_W}n\big)^3
      \sum_{\delta_0\delta_1\delta_2}\langle\!\langle\partial_{i_0\delta_0}\partial_{i_1\delta_1}\partial_{i_2\delta_2}\mathcal O
      \rangle\!\rangle\sigma_{j_0;\delta_0}\sigma_{j_1;\delta_1}\sigma_{j_2;\delta_2}.$$

    **Arguments:** as for `two_weight_insertions`.

    Examples:
        >>> weights = ((0, 0), (0, 0), (0, 1))
        >>> round(float(fw.expansion.three_weight_insertions(lambda z: z[0, 0], [[1.0, 2.0]], weights)), 6)
        0.5
    """
    if len(weights) != 3 or not all(hasattr(each, "__len__") and len(each) == 2 for each in weights):
        raise ShapeError("weights", repr(weights)[:60], "three pairs (neuron, signal)")
    directions, covariance, per_weight, count = _directions(function, signals, weights, neurons, C_b, C_W)
    every = function
    for direction in directions:
        every = _along(every, direction)
    total = per_weight**3 * gaussian_average(every, covariance, count)
    for left, (a, b) in ((0, (1, 2)), (1, (0, 2)), (2, (0, 1))):
        if tuple(weights[a]) == tuple(weights[b]):
            total += per_weight**2 * gaussian_average(_along(function, directions[left]), covariance, count)
    return total


def _directions(
    function: Observable,
    signals: Any,
    weights: Sequence[tuple[int, int]],
    neurons: int,
    C_b: float,
    C_W: float,
    argument: str = "weights",
) -> tuple[list[Float[Array, "N m"]], Float[Array, "N N"], float, int]:
    r"""How each weight moves the preactivations, $\partial z_{i';\delta}/\partial W_{ij} = \delta_{ii'}\sigma_{j;\delta}$, the metric, the
    variance of one weight and the number of neurons, all checked."""
    sigma, count = _as_signals(signals), as_count(neurons, "neurons")
    check_observable(function, (len(sigma), count), "function")
    covariance, per_weight = _metric(sigma, C_b, C_W, count)
    moved = []
    for i, j in weights:
        if as_count(i, argument, at_least=0) >= count or as_count(j, argument, at_least=0) >= sigma.shape[1]:
            raise DomainError(argument, weights, f"indices below {count} neurons and {sigma.shape[1]} signals")
        moved.append(jnp.zeros((len(sigma), count)).at[:, i].set(sigma[:, j]))
    return moved, covariance, per_weight, count


def _along(function: Observable, direction: Float[Array, "N m"]) -> Observable:
    return lambda z: jax.jvp(function, (z,), (direction,))[1]


def _as_signals(signals: Any) -> Float[Array, "N n"]:
    sigma = as_floats(signals, "signals")
    if sigma.ndim != 2 or 0 in sigma.shape:
        raise ShapeError("signals", f"shape {sigma.shape}", "shape (N, n) with one sample a row")
    return sigma


def _metric(sigma: Float[Array, "N n"], C_b: float, C_W: float, neurons: int) -> tuple[Float[Array, "N N"], float]:
    r"""$\widehat G$, PDLT (8.49), having checked that it can be averaged over, and the variance $C_W/n$ of one weight."""
    if neurons * len(sigma) > _MOST_VARIABLES:
        got = f"{neurons} neurons times {len(sigma)} samples"
        raise DomainError("function, signals", got, f"at most {_MOST_VARIABLES} variables in all")
    per_weight = as_number(C_W, "C_W", low=0.0) / sigma.shape[1]
    metric = kernel_of(as_number(C_b, "C_b", low=0.0), per_weight, sigma @ sigma.T)
    if np.linalg.eigvalsh(np.asarray(metric))[0] <= 1e-12 * np.trace(np.asarray(metric)):
        raise DomainError("signals", "samples whose metric is singular", "samples that are linearly independent")
    return metric, per_weight
