"""Functions whose derivatives JAX makes NaN, or takes from the wrong branch at zero: only their values are averaged."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Bool

from .._arrays import Array
from .._errors import DomainError
from ..gaussian.derivatives import differentiate, sampled
from .sampling import size

_NODES = np.concatenate([[0.0], np.arange(-12.0, 12.0, 0.01) + 0.00271])  # where averages put theirs, zero among them
_AT_A_KINK = 1e-8  # nodes keep away from kinks
_BESIDE_ZERO = np.outer(
    [1e-4, 1e-6, 1e-9, 1e-12], [-2.0, -1.0, 1.0, 2.0]
)  # the closer ones for functions that are steep at zero
_INTERPOLATION = np.array([-1.0, 4.0, 4.0, -1.0]) / 6
_UNLIKE, _ROUNDING = 1e-3, 1e-6  # a derivative at zero, and those beside it; relative to it and to the function
_FEW_ORDERS = 3  # whose values there are no rounding, as they may be for a quotient


@dataclass(frozen=True)
class WithoutDerivative:
    """The function `value`, whose derivative of an `order` is not to be had at a point: asking for it is an error, whoever asks."""

    value: Callable[[Array], Array]
    order: int
    at: float

    def __call__(self, z: Array) -> Array:
        """The function's value, elementwise."""
        return _guarded(self.value, self.order, self.order, self.at)(z)


@functools.lru_cache(maxsize=512)
def _guarded(value: Callable[[Array], Array], order: int, left: int, at: float) -> Callable[[Array], Array]:
    function = jax.custom_jvp(value)

    @function.defjvp
    def _(primals, tangents):
        if left == 1:
            raise DomainError(
                "activation",
                f"a function whose derivative of order {order}, as JAX takes it, is wrong or NaN at {at:.3g}",
                "a function that JAX can differentiate (one branch of `where` must not be a lone point, and none may be NaN)",
            )
        (z,), (dz,) = primals, tangents
        return value(z), _guarded(differentiate(value), order, left - 1, at)(z) * dz

    return function


@functools.lru_cache(maxsize=128)
def guarded(value: Callable[[Array], Array], kinks: tuple[float, ...]) -> Callable[[Array], Array]:
    """The function itself, or one that refuses the first derivative that is NaN where the function is not, or that at zero is another
    than beside it, as the second of `jnp.where(z == 0, 1, jnp.sin(z) / z)`."""
    away = np.all(np.abs(np.subtract.outer(_NODES, np.asarray(kinks))) > _AT_A_KINK, axis=1)
    nodes = _NODES[away]
    with np.errstate(invalid="ignore"):
        derivatives = sampled(value, nodes)
    missing = np.isnan(derivatives) & np.isfinite(derivatives[0])
    if away[0]:
        missing[:_FEW_ORDERS, 0] |= _is_another_at_zero(value)
    missing[0] = False
    orders = np.flatnonzero(missing.any(axis=1))
    if len(orders) == 0:
        return value
    return WithoutDerivative(value, int(orders[0]), float(nodes[np.argmax(missing[orders[0]])]))


def _is_another_at_zero(value: Callable[[Array], Array]) -> Bool[np.ndarray, " orders"]:
    """Whether the lowest derivatives at zero are not what those beside it say, at whichever distance."""
    at = sampled(value, np.zeros(1))[:_FEW_ORDERS, 0]
    beside = sampled(value, _BESIDE_ZERO.ravel())[:_FEW_ORDERS].reshape(_FEW_ORDERS, *_BESIDE_ZERO.shape)
    expected = beside @ _INTERPOLATION
    sizes = np.maximum(np.abs(at)[:, None], np.abs(expected))
    return np.all(np.abs(at[:, None] - expected) > _UNLIKE * sizes + _ROUNDING * size(value), axis=1)
