"""Whether the averages of an activation can be believed, decided before they are used."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from ..._arrays import Array
from ..._errors import DomainError
from ...activations import Activation, ScaleInvariant
from ...activations.families import ExponentialSum
from ...gaussian.line import line_average, line_rule
from .averages import averages_at

_AGREEMENT = 1e-6  # between two quadrature rules, beyond which neither is believed
_TAIL = 11.0  # deviations beyond which the integrand must be negligible: the rules end at 13
_SPLIT = 0.7  # an edge that no smooth function notices


@functools.partial(jax.jit, static_argnums=0)
def _evidence(activation: Activation, K: Array) -> Array:
    """The worst, over value and slope, of the disagreement between two quadrature rules and the share of the tails."""

    def worst(order: int) -> Array:
        def square(z: Array) -> Array:
            return activation.derivative(order)(z) ** 2

        z, weights = line_rule(K, activation.kinks)
        terms = weights * square(z)
        total = jnp.sum(terms, axis=-1)
        other = line_average(square, K, (*activation.kinks, _SPLIT))
        tail = jnp.sum(jnp.where(jnp.abs(z) > _TAIL * jnp.sqrt(K)[..., None], terms, 0.0), axis=-1)
        return jnp.maximum(jnp.abs(total - other), tail) / jnp.maximum(total, jnp.finfo(total.dtype).tiny)

    return jnp.maximum(worst(0), worst(1))


def resolved(activation: Activation, K: Float[Array, "*K"]) -> Bool[np.ndarray, "*K"]:
    """Where the averages can be believed: two different quadratures agree and nothing is left in the tails.

    They cannot when a kink was not declared, when the activation oscillates or bends on a scale far below one,
    or when it grows so fast that the Gaussian does not suppress it.
    """
    if isinstance(activation, ScaleInvariant):
        return np.ones(K.shape, dtype=bool)
    if isinstance(activation, ExponentialSum):
        return np.asarray(jnp.isfinite(averages_at(activation, K).v))
    return np.asarray(_evidence(activation, K) < _AGREEMENT)  # false for NaN too


def check_resolved(activation: Activation, K: Float[Array, "*K"], argument: str) -> None:
    """`DomainError` naming `argument` where the averages of `activation` cannot be believed."""
    good = resolved(activation, K)
    if not good.all():
        raise DomainError(
            argument,
            f"a kernel of {np.asarray(K)[~good].flat[0]:.4g}, where averages of {activation.name!r} cannot be resolved",
            "kernels at which it neither oscillates nor grows too fast, and every kink declared in `kinks`",
        )


def check_continuous(activation: Activation) -> None:
    r"""`DomainError` for an activation that jumps: its slope holds a delta function and $\chi_\perp = \infty$."""
    if activation.has_jump(0):
        raise DomainError(
            "activation",
            f"{activation.name!r}, which jumps: its slope holds a delta function, so chi_perp is infinite",
            "a continuous activation",
        )
