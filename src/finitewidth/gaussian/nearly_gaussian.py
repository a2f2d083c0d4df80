r"""The law of a few neurons to first order in 1/width: density, expectations, marginals.

Given the random metric $\hat G$ of a layer, its neurons are independent Gaussians of covariance $\hat G$, PDLT (4.69).
To first order all that matters of $\hat G$ is, in *width-absorbed* variables,

- `K` (N, N): the kernel $K_{ab}$,
- `v` (N, N, N, N): its covariance $v_{(ab)(cd)} = V_{(ab)(cd)}/n_{\ell-1}$, PDLT (4.76),
- `g1` (N, N): the shift of its mean $g_{1,ab} = G^{\{1\}}_{ab}/n_{\ell-1}$, PDLT (4.104).

Neurons are rows and samples columns: `z` is (m, N).
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry, warn
from .._errors import DomainError, ShapeError
from .._validation import as_count, as_covariance, as_floats, is_concrete, tried
from .wick import as_invertible, gaussian_log_density

Metric = Float[Array, "N N"]
Vertex = Float[Array, "N N N N"]
Average = Callable[[Metric], Array]

_ASYMMETRY = 1e-10


def as_symmetric(value: Metric | Any, argument: str, like: Metric) -> Metric:
    """A symmetric matrix of the size of `like`."""
    return _with_symmetries(value, argument, like.shape, [(1, 0)])


def as_vertex(value: Vertex | Any, argument: str, like: Metric) -> Vertex:
    """A tensor on pairs of samples, $v_{(ab)(cd)} = v_{(ba)(cd)} = v_{(cd)(ab)}$, of the size of the matrix `like`."""
    return _with_symmetries(value, argument, like.shape * 2, [(1, 0, 2, 3), (2, 3, 0, 1)])


def _with_symmetries(value: Any, argument: str, shape: tuple[int, ...], symmetries: list[tuple[int, ...]]) -> Array:
    array = as_floats(value, argument)
    if array.shape != shape:
        raise ShapeError(argument, f"shape {array.shape}", f"shape {shape}, to go with the other matrices")
    if is_concrete(array):
        numbers = np.asarray(array)
        defect = max(float(np.abs(numbers - numbers.transpose(axes)).max()) for axes in symmetries)
        if defect > _ASYMMETRY * float(np.abs(numbers).max()):
            raise DomainError(
                argument, "a tensor without the exchange symmetries", "v_(ab)(cd) = v_(ba)(cd) = v_(cd)(ab)"
            )
    return array


def as_neurons(z: Float[Array, "*batch m N"] | Any, argument: str, like: Metric) -> Float[Array, "*batch m N"]:
    """Preactivations with one neuron a row and one sample a column."""
    array = as_floats(z, argument)
    if array.ndim < 2 or array.shape[-1] != len(like):
        raise ShapeError(argument, f"shape {array.shape}", f"shape (neurons, {len(like)}): one neuron a row")
    return array


@entry()
def density_correction(
    z: Float[Array, "*batch m N"] | Any, K: Metric | Any, v: Vertex | Any, g1: Metric | Any
) -> Float[Array, "*batch"]:
    r"""The relative correction $\delta(z)$ of the density of m neurons, $p = \mathcal N(z;K)^{\otimes m}(1+\delta)$.

    $$\delta = \tfrac12 g_{1,ab}S^{ab} + \tfrac18 v_{(ab)(cd)}\Big[S^{ab}S^{cd} - 4K^{ac}\sum_i\bar z_i^b\bar z_i^d
      + 2mK^{ac}K^{bd}\Big],\qquad S^{ab} = \sum_i\bar z^a_i\bar z^b_i - mK^{ab},\quad \bar z^a = K^{ab}z_b,$$

    the average of PDLT (4.58)-(4.60) over the fluctuations of the metric. Its integral against the Gaussian is zero.

    Examples:
        >>> K, v = [[2.0]], [[[[0.1]]]]
        >>> round(float(fw.gaussian.density_correction([[1.0]], K, v, [[0.0]])), 6)
        0.000781
    """
    metric = as_invertible(K, "K")
    neurons, vertex, shift = as_neurons(z, "z", metric), as_vertex(v, "v", metric), as_symmetric(g1, "g1", metric)
    return _density_correction(neurons, metric, vertex, shift)


@jax.jit
def _density_correction(
    neurons: Float[Array, "*batch m N"], metric: Metric, vertex: Vertex, shift: Metric
) -> Float[Array, "*batch"]:
    inverse, m = jnp.linalg.inv(metric), neurons.shape[-2]
    raised = neurons @ inverse
    products = jnp.einsum("...ia,...ib->...ab", raised, raised)
    S = products - m * inverse
    exchange = jnp.einsum("abcd,ac->bd", vertex, inverse)
    return 0.5 * jnp.einsum("ab,...ab->...", shift, S) + 0.125 * (
        jnp.einsum("abcd,...ab,...cd->...", vertex, S, S)
        - 4 * jnp.einsum("bd,...bd->...", exchange, products)
        + 2 * m * jnp.einsum("bd,bd->", exchange, inverse)
    )


@entry()
def density(
    z: Float[Array, "*batch m N"] | Any, K: Metric | Any, v: Vertex | Any, g1: Metric | Any
) -> Float[Array, "*batch"]:
    r"""The density of m neurons on N samples to $O(1/n)$, PDLT (4.58)-(4.60).

    $\mathcal N(z;K)^{\otimes m}(1+\delta(z))$ integrates to one but may turn negative far in the tails, where
    $|\delta|$ is no longer small. There the value is set to 0, with a `ValidityWarning` (outside `jit`);
    `density_correction` gives the unclipped $\delta$.

    Examples:
        >>> K, v = [[2.0]], [[[[0.1]]]]
        >>> round(float(fw.gaussian.density([[1.0]], K, v, [[0.0]])), 6)
        0.219867
    """
    bracket = 1 + density_correction(z, K, v, g1)
    if is_concrete(bracket) and (negative := int((np.asarray(bracket) < 0).sum())):
        warn(
            f"the O(1/n) density is negative at {negative} of {bracket.size} points, set to 0: "
            "too far in the tails for this width"
        )
    return jnp.exp(gaussian_log_density(z, K).sum(axis=-1)) * jnp.maximum(bracket, 0.0)


def as_samples(keep: Sequence[int], argument: str, count: int) -> list[int]:
    """Some of `count` samples, each once."""
    kept = [as_count(sample, f"{argument}[{i}]", at_least=0) for i, sample in enumerate(keep)]
    if not kept or len(set(kept)) < len(kept) or max(kept) >= count:
        raise DomainError(argument, kept, f"at least one sample, each once and below {count}")
    return kept


@entry()
def marginalise_samples(
    K: Metric | Any, v: Vertex | Any, g1: Metric | Any, keep: Sequence[int]
) -> tuple[Float[Array, "k k"], Float[Array, "k k k k"], Float[Array, "k k"]]:
    """`K`, `v` and `g1` of the samples in `keep` alone: the sub-blocks, PDLT (4.92)-(4.93).

    Couplings do not restrict so simply: raise indices only afterwards, with the inverse of the sub-block.

    Examples:
        >>> K, g1 = np.eye(2), np.zeros((2, 2))
        >>> metric, *_ = fw.gaussian.marginalise_samples(K, np.zeros((2, 2, 2, 2)), g1, keep=[1])
        >>> metric.tolist()
        [[1.0]]
    """
    metric = as_covariance(K, "K")
    vertex, shift = as_vertex(v, "v", metric), as_symmetric(g1, "g1", metric)
    kept = as_samples(keep, "keep", len(metric))
    return metric[np.ix_(kept, kept)], vertex[np.ix_(kept, kept, kept, kept)], shift[np.ix_(kept, kept)]


@entry()
def expectation(average: Average, K: Metric | Any, v: Vertex | Any, g1: Metric | Any) -> Array:
    r"""$E[F]$ of a function of any neurons to $O(1/n)$, from its average $A(K)$ over independent Gaussians.

    $$E[F] = A(K) + \frac{\partial A}{\partial K_{ab}}g_{1,ab}
      + \tfrac12\frac{\partial^2A}{\partial K_{ab}\partial K_{cd}}v_{(ab)(cd)},$$

    which is PDLT (4.46) and PDLT (4.61) with the couplings eliminated: no inverse of $K$, no spectator neurons.
    `average` maps a symmetric (N, N) matrix to $A$ and is twice differentiable at `K`.

    Examples:
        >>> K, v = [[2.0]], [[[[0.1]]]]
        >>> round(float(fw.gaussian.expectation(lambda K: 3 * K[0, 0] ** 2, K, v, [[0.0]])), 6)
        12.3
    """
    metric = as_covariance(K, "K")
    vertex, shift = as_vertex(v, "v", metric), as_symmetric(g1, "g1", metric)
    if is_concrete(metric):
        tried(average, metric, "average")
    value, first_order = jax.jvp(average, (metric,), (shift,))
    return value + first_order + 0.5 * jnp.einsum("...abcd,abcd->...", jax.hessian(average)(metric), vertex)


@entry()
def covariance_between_neurons(average_F: Average, average_G: Average, K: Metric | Any, v: Vertex | Any) -> Array:
    r"""$\mathrm{Cov}[F(z_i), G(z_j)]$ of two different neurons at leading order, PDLT (4.63)-(4.64).

    $$\tfrac14 v_{(ab)(cd)}\langle\partial_a\partial_bF\rangle_K\langle\partial_c\partial_dG\rangle_K
      = v_{(ab)(cd)}\,\frac{\partial\langle F\rangle_K}{\partial K_{ab}}\,
        \frac{\partial\langle G\rangle_K}{\partial K_{cd}}.$$

    Examples:
        >>> K, v = [[2.0]], [[[[0.1]]]]
        >>> float(fw.gaussian.covariance_between_neurons(lambda K: K[0, 0], lambda K: K[0, 0], K, v))
        0.1
    """
    metric = as_covariance(K, "K")
    vertex = as_vertex(v, "v", metric)
    for name, average in (("average_F", average_F), ("average_G", average_G)):
        if is_concrete(metric) and tried(average, metric, name).shape != ():
            raise ShapeError(name, "a function that returns an array", "one that returns a number")
    return jnp.einsum("abcd,ab,cd->", vertex, jax.grad(average_F)(metric), jax.grad(average_G)(metric))
