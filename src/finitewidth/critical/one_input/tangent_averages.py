r"""The single-input averages with four factors that the tangent kernel needs beyond those of `averages`.

Covariances are averaged centred, so that no digits cancel at the small kernels of a deep network.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ..._entry import entry
from ..._errors import DomainError
from ..._result import Result
from ..._table import Table, table_of, values_of
from ..._validation import as_floats, is_concrete
from ...activations import Activation, ScaleInvariant
from ...activations.families import ExponentialSum
from ...gaussian.line import line_rule
from .averages import SUM_FROM, Numbers, SingleInput, single_input


class _TangentAverages(NamedTuple):
    single: SingleInput
    mixed: Numbers
    slopes: Numbers
    mixed_covariance: Numbers
    slope_variance: Numbers


class TangentAverages(Result, _TangentAverages):
    r"""`single` with, for the fluctuations of the tangent kernel, PDLT (9.13)-(9.16): `mixed`
    $= \langle\sigma^2\sigma'^2\rangle_K$, `slopes` $= \langle\sigma'^4\rangle_K$, and the covariances `mixed_covariance`
    $= \langle\sigma^2\sigma'^2\rangle - \langle\sigma^2\rangle\langle\sigma'^2\rangle$ and `slope_variance`
    $= \langle\sigma'^4\rangle - \langle\sigma'^2\rangle^2$."""

    def table(self) -> Table:
        """All averages side by side."""
        values = values_of(self)
        return table_of(values_of(values.pop("single")) | values, self.axes)


@entry()
def tangent_averages(activation: Activation, K: Any) -> TangentAverages:
    """All of them at each variance in `K`.

    Examples:
        >>> round(float(fw.critical.tangent_averages(fw.ACTIVATIONS["relu"], 1.0).slopes), 6)
        0.5
    """
    K = as_floats(K, "K")
    if is_concrete(K) and not bool((np.asarray(K) > 0).all()):
        raise DomainError("K", f"{np.asarray(K).min():g}", "positive variances")
    single = single_input(activation, K)
    if isinstance(activation, ScaleInvariant):
        return TangentAverages(single, *_of_scale_invariant(activation, K))
    if not isinstance(activation, ExponentialSum):
        return TangentAverages(single, *_by_quadrature(activation, K, single))
    large = K >= SUM_FROM
    sums = _by_summation(activation, jnp.where(large, K, SUM_FROM), single)
    quadrature = _by_quadrature(activation, jnp.where(large, SUM_FROM, K), single)
    chosen = (jnp.where(large, one, other) for one, other in zip(sums, quadrature, strict=True))
    return TangentAverages(single, *chosen)


tangent_averages_at = compiled_in_haste(light=1000, static_argnums=0)(tangent_averages)
"""`tangent_averages`, compiled."""


def _of_scale_invariant(activation: ScaleInvariant, K: Array) -> tuple[Array, ...]:
    r"""$\langle\sigma^2\sigma'^2\rangle = A_4K$ and $\langle\sigma'^4\rangle = A_4$, PDLT (9.37)-(9.38)."""
    A4, spread, one = activation.A4, activation.A4 - activation.A2**2, jnp.ones_like(K)
    return A4 * K, A4 * one, spread * K, spread * one


def _by_quadrature(activation: Activation, K: Array, single: SingleInput) -> tuple[Array, ...]:
    z, weights = line_rule(K, activation.kinks)
    values, slopes = activation(z) ** 2, activation.derivative(1)(z) ** 2

    def mean(terms: Array) -> Array:
        return jnp.sum(weights * terms, axis=-1)

    above = slopes - single.s[..., None]
    return mean(values * slopes), mean(slopes**2), mean((values - single.g[..., None]) * above), mean(above**2)


def _by_summation(activation: ExponentialSum, K: Array, single: SingleInput) -> tuple[Array, ...]:
    def average(*orders: int) -> Array:
        return jnp.vectorize(lambda k: activation.closed_product(orders, jnp.full((4, 4), k)))(K)

    mixed, slopes = average(0, 0, 1, 1), average(1, 1, 1, 1)
    return mixed, slopes, mixed - single.g * single.s, slopes - single.s**2
