r"""The multivariate Gaussian: normaliser, density, generating function, and moments by Wick's theorem.

$K_{\mu\nu}$ is the covariance (the book's metric or kernel) and $K^{\mu\nu}$ its inverse, PDLT (1.32)-(1.33).
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax.linalg import triangular_solve
from jaxtyping import Float

from .._arrays import Array, diagonal
from .._entry import entry
from .._errors import BlowUpError, DomainError, ShapeError
from .._validation import as_count, as_covariance, as_floats, is_concrete

# Correlation eigenvalues below this many units of rounding cannot be told from zero.
_ROUNDINGS = 16

# Beyond this order the moments of a unit Gaussian leave the floats, and the recursion below the interpreter's stack.
_HIGHEST_ORDER = 300


def as_invertible(matrix: Float[Array, "N N"] | Any, argument: str) -> Float[Array, "N N"]:
    """A covariance that has an inverse in floating point, whatever the units of its variables."""
    K = as_covariance(matrix, argument)
    if is_concrete(K):
        values = np.asarray(K)
        scale = np.sqrt(np.diagonal(values))
        floor = _ROUNDINGS * len(values) * np.finfo(values.dtype).eps
        if not scale.all() or np.linalg.eigvalsh(values / np.outer(scale, scale))[0] <= floor:
            raise DomainError(
                argument,
                "a singular matrix",
                "an invertible covariance: drop variables that are constant, duplicated or linearly dependent",
            )
    return K


@entry()
def log_normaliser(K: Float[Array, "N N"] | Any) -> Float[Array, ""]:
    r"""$\log I_K$, $I_K = \int dz\,e^{-\frac12 K^{\mu\nu}z_\mu z_\nu} = \sqrt{|2\pi K|}$, PDLT (1.7), PDLT (1.30).

    Examples:
        >>> K = [[1.0, 0.5], [0.5, 2.0]]
        >>> round(float(fw.gaussian.log_normaliser(K)), 6)
        2.117685
    """
    root = jnp.linalg.cholesky(as_invertible(K, "K"))
    return _log_normaliser_from_root(root)


def _log_normaliser_from_root(root: Float[Array, "N N"]) -> Float[Array, ""]:
    return jnp.sum(jnp.log(diagonal(root))) + 0.5 * len(root) * math.log(2 * math.pi)


@entry()
def gaussian_log_density(
    z: Float[Array, "*batch N"] | Any, K: Float[Array, "N N"] | Any, mean: Float[Array, "*#batch N"] | Any = 0.0
) -> Float[Array, "*batch"]:
    r"""$-\tfrac12 K^{\mu\nu}(z-s)_\mu(z-s)_\nu - \tfrac12\log|2\pi K|$ with mean $s$, PDLT (1.34)-(1.35).

    Examples:
        >>> K = [[1.0, 0.5], [0.5, 2.0]]
        >>> round(float(fw.gaussian.gaussian_log_density([0.0, 1.0], K)), 6)
        -2.403399
    """
    metric, samples, centre = as_invertible(K, "K"), as_floats(z, "z"), as_floats(mean, "mean")
    _require_last_axis(samples, "z", len(metric))
    if centre.ndim:
        _require_last_axis(centre, "mean", len(metric))
    return _centred_log_density(samples - centre, metric)


@jax.jit
def _centred_log_density(shifted: Float[Array, "*batch N"], K: Float[Array, "N N"]) -> Float[Array, "*batch"]:
    root = jnp.linalg.cholesky(K)
    white = triangular_solve(root, shifted.reshape(-1, len(root)).T, left_side=True, lower=True)
    return -0.5 * jnp.sum(white**2, axis=0).reshape(shifted.shape[:-1]) - _log_normaliser_from_root(root)


@entry()
def log_source_generating_function(
    K: Float[Array, "N N"] | Any, J: Float[Array, "*batch N"] | Any
) -> Float[Array, "*batch"]:
    r"""$\log Z_{K,J} = \tfrac12\log|2\pi K| + \tfrac12 J^\mu K_{\mu\nu}J^\nu$, PDLT (1.19), PDLT (1.41).

    Its exponential, divided by $I_K$, generates the moments by derivatives at $J = 0$, PDLT (1.42).

    Examples:
        >>> K = [[1.0, 0.5], [0.5, 2.0]]
        >>> float(fw.gaussian.log_source_generating_function(K, [1.0, 0.0]))
        2.617685
    """
    metric, source = as_invertible(K, "K"), as_floats(J, "J")
    _require_last_axis(source, "J", len(metric))
    return log_normaliser(metric) + 0.5 * jnp.einsum("...a,ab,...b->...", source, metric, source)


def _require_last_axis(array: Array, argument: str, length: int) -> None:
    if array.ndim == 0 or array.shape[-1] != length:
        raise ShapeError(argument, f"shape {array.shape}", f"a last axis of length {length}, as in `K`")


def double_factorial(m: int) -> int:
    r"""$(2m-1)!! = (2m)!/(2^m m!)$, the number of ways to pair $2m$ things, PDLT (1.16)."""
    return math.factorial(2 * m) // (2**m * math.factorial(m))


@entry()
def gaussian_moment(K: Float[Array, "*batch"] | Any, m: int) -> Float[Array, "*batch"]:
    r"""$E[z^{2m}] = K^m\,(2m-1)!!$ for one variable of variance $K$ (elementwise), PDLT (1.15).

    Examples:
        >>> float(fw.gaussian.gaussian_moment(2.0, 2))
        12.0
    """
    variance, half_order = as_floats(K, "K"), as_count(m, "m", at_least=0)
    if is_concrete(variance) and bool((np.asarray(variance) < 0).any()):
        raise DomainError("K", "a negative variance", "variances >= 0")
    # Factor by factor: the double factorial alone leaves the floats at m = 151.
    moment = jnp.prod(jnp.arange(1, 2 * half_order, 2) * variance[..., None], axis=-1)
    if is_concrete(moment) and not bool(np.isfinite(np.asarray(moment)).all()):
        raise BlowUpError(f"E[z^{2 * half_order}] is larger than any floating-point number; lower `m` or `K`")
    return moment


def pairings(n: int) -> Iterator[tuple[tuple[int, int], ...]]:
    r"""The $(n-1)!!$ ways to pair the numbers $0..n-1$, one at a time; none for odd $n$, PDLT (1.45).

    Examples:
        >>> list(fw.gaussian.pairings(4))
        [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))]
    """
    return _pairings_of(tuple(range(as_count(n, "n", at_least=0))))


def _pairings_of(items: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    if not items:
        yield ()
        return
    first, *rest = items
    for position, partner in enumerate(rest):
        for others in _pairings_of((*rest[:position], *rest[position + 1 :])):
            yield ((first, partner), *others)


@entry()
def wick_moment(K: Float[Array, "N N"] | Any, indices: Sequence[int]) -> Float[Array, ""]:
    r"""$E[z_{\mu_1}\cdots z_{\mu_{2m}}]$, the sum over all pairings of $\prod K_{\mu_j\mu_k}$, PDLT (1.44)-(1.45).

    Works for singular $K$ too. The pairings are not enumerated: they are summed through the recursion
    $E[z_\mu\,M] = \sum_\nu K_{\mu\nu}\,E[\partial_\nu M]$ over the powers of each variable, so that a product of
    $r$ distinct variables with powers $p_i$ costs $\prod(p_i+1)$ terms at most instead of $(2m-1)!!$.

    Examples:
        >>> K = [[1.0, 0.5], [0.5, 2.0]]
        >>> float(fw.gaussian.wick_moment(K, [0, 0, 1, 1]))
        2.5
    """
    metric = as_covariance(K, "K")
    chosen = [as_count(index, f"indices[{i}]", at_least=0) for i, index in enumerate(indices)]
    if chosen and max(chosen) >= len(metric):
        raise DomainError("indices", max(chosen), f"indices below {len(metric)}, the size of `K`")
    if len(chosen) > _HIGHEST_ORDER:
        raise DomainError("indices", f"{len(chosen)} indices", f"at most {_HIGHEST_ORDER}")
    total = wick_sum(metric, chosen)
    if is_concrete(total) and not math.isfinite(total):
        raise BlowUpError("the moment of these `indices` is larger than any floating-point number")
    return jnp.asarray(total, metric.dtype)


def wick_sum(K: Float[Array, "N N"], indices: Sequence[int]) -> Any:
    """`wick_moment` for arguments that have been checked."""
    if len(indices) % 2:
        return 0.0
    distinct = sorted(set(indices))
    # Python's own numbers when there are numbers: scalar arithmetic on arrays is a thousand times slower.
    entries = np.asarray(K).tolist() if is_concrete(K) else K

    @cache
    def moment(powers: tuple[int, ...]) -> Any:
        first = next((i for i, power in enumerate(powers) if power), None)
        if first is None:
            return 1.0
        rest = _lowered(powers, first)
        return sum(
            power * entries[distinct[first]][distinct[i]] * moment(_lowered(rest, i))
            for i, power in enumerate(rest)
            if power
        )

    return moment(tuple(indices.count(index) for index in distinct))


def _lowered(powers: tuple[int, ...], i: int) -> tuple[int, ...]:
    return (*powers[:i], powers[i] - 1, *powers[i + 1 :])
