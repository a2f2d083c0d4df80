r"""The kernel map near $K = 0$: series in $\sqrt K$, from the derivatives of the activation on either side of zero.

An activation smooth at zero has only whole powers, and their coefficients are $a_1, a_2, b_1$ of PDLT (5.83)-(5.88).
One with a kink there (softsign, ELU, ReLU6) has half-integer powers too, which then rule the depth exponents.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ..._entry import entry
from ..._errors import DomainError
from ..._result import Result
from ...activations import Activation, as_activation
from ...activations.sampling import size
from ...gaussian.derivatives import ORDERS, sampled
from .kinks import limits
from .one_sided import one_sided

_VANISHING = 1e-9  # of the sum of absolute contributions, or of the size of the activation: what is less is rounding
_ORDERS = (5, 9)  # derivatives taken: enough for a_2; more only for activations fine-tuned to have no a_1, a_2
_REACHED = np.logspace(-4, 3, 57)  # distances from zero: standard deviations of the kernels in a table


def _absolute_moment(n: int) -> float:
    r"""$\langle|z|^n\rangle$ at unit variance: $(n-1)!!$, times $\sqrt{2/\pi}$ for odd $n$."""
    return math.prod(range(n - 1, 0, -2)) * (math.sqrt(2 / math.pi) if n % 2 else 1.0)


def derivatives_at_zero(activation: Activation, order: int) -> tuple[np.ndarray, np.ndarray]:
    r"""$\sigma_p = \sigma^{(p)}(0^\pm)$ for $p = 0..$`order`, from the right and from the left; infinite ones as `inf`."""
    kinked = 0.0 in activation.kinks
    if order < ORDERS:
        found = limits(activation, (0.0,))[0][:, 0] if kinked else sampled(activation.value, np.zeros(2))
        right, left = found[: order + 1].T
        return right, left
    if not kinked:
        values = np.asarray(activation.taylor(order))
        return values, values
    right, left = np.asarray(_sides_of_zero(activation, order)).T
    return right, left


@compiled_in_haste(light=5000, static_argnums=(0, 1))
def _sides_of_zero(activation: Activation, order: int) -> Float[Array, "orders 2"]:
    return jnp.stack([jnp.concatenate(one_sided(activation, p, jnp.zeros(1))) for p in range(order + 1)])


@dataclass(frozen=True, repr=False)
class Growth(Result):
    r"""The first correction at zero: $g/A_2 = K + c\,K^{1+p}$ and $\langle\sigma'^2\rangle/A_2 = 1 + d\,K^p$."""

    power: float
    c: float
    d: float
    slope_first: float  # coefficient of a correction to the slope that comes at a lower power, else 0


@dataclass(frozen=True, repr=False)
class KernelSeries(Result):
    r"""$\langle\sigma^2\rangle_K = \sum_m$ `mean_square[m]` $K^{m/2}$ and $\langle\sigma'^2\rangle_K = \sum_m$
    `mean_square_slope[m]` $K^{m/2}$.

    For smooth activations this is PDLT (5.80)-(5.88); the coefficient of $K$ in $\langle\sigma^2\rangle$ is
    $\sigma_1^2 + \sigma_0\sigma_2$, where PDLT (5.81) prints $\sigma_1^2 + 2\sigma_0\sigma_2$.
    """

    right: np.ndarray
    left: np.ndarray
    mean_square: np.ndarray
    mean_square_slope: np.ndarray
    unit: float = 1.0  # the size of the activation near zero
    complete: bool = True  # whether all derivatives are finite: if not, coefficients end before the first that is not

    @property
    def sigma_0(self) -> float:
        """The value at zero."""
        return float(self.right[0]) if abs(self.right[0]) > _VANISHING * self.unit else 0.0

    @property
    def A2(self) -> float:
        r"""Mean squared slope at zero: $\sigma_1^2$ when smooth, $(a_+^2 + a_-^2)/2$ when kinked."""
        slope = float(self.mean_square_slope[0])
        return slope if slope > (_VANISHING * self.unit) ** 2 else 0.0

    @property
    def A4(self) -> float:
        r"""Mean fourth power of the slope at zero."""
        return float(self.right[1] ** 4 + self.left[1] ** 4) / 2

    @property
    def slope_jumps(self) -> bool:
        """Whether the activation has a corner at zero, as ReLU has."""
        return bool(abs(self.right[1] - self.left[1]) > _VANISHING * (abs(self.right[1]) + abs(self.left[1])))

    @property
    def smooth(self) -> bool:
        """Whether both sides have the same derivatives."""
        return bool(np.allclose(self.right, self.left, rtol=_VANISHING, atol=_VANISHING * self.unit))

    @property
    def a1(self) -> float:
        r"""$a_1 = \frac{\sigma_3}{\sigma_1} + \frac34\big(\frac{\sigma_2}{\sigma_1}\big)^2$, PDLT (5.86)."""
        return float(self.mean_square[4] / self.mean_square[2])

    @property
    def a2(self) -> float:
        r"""$a_2 = \frac14\frac{\sigma_5}{\sigma_1} + \frac58\frac{\sigma_4\sigma_2}{\sigma_1^2}
        + \frac5{12}\big(\frac{\sigma_3}{\sigma_1}\big)^2$, PDLT (5.87)."""
        return float(self.mean_square[6] / self.mean_square[2])

    @property
    def b1(self) -> float:
        r"""$b_1 = \frac{\sigma_3}{\sigma_1} + \big(\frac{\sigma_2}{\sigma_1}\big)^2$, PDLT (5.88)."""
        return float(self.mean_square_slope[2] / self.mean_square_slope[0])

    def growth(self) -> Growth | None:
        r"""The first correction, or `None` when every coefficient known vanishes (as for hard tanh)."""
        corrections = self.mean_square[3:] / self.mean_square[2]
        nonzero = np.flatnonzero(corrections)
        if len(nonzero) == 0:
            return None
        m = int(nonzero[0]) + 1
        slopes = self.mean_square_slope / self.A2
        lower = slopes[1:m][np.flatnonzero(slopes[1:m])]
        return Growth(m / 2, float(corrections[m - 1]), float(slopes[m]), float(lower[0]) if len(lower) else 0.0)


def _squared_series(right: np.ndarray, left: np.ndarray) -> np.ndarray:
    r"""Coefficients of $K^{m/2}$ in $\langle f^2\rangle_K$ from Taylor coefficients of $f$ on either side of zero."""

    def one_side(taylor: np.ndarray, sign: int) -> tuple[np.ndarray, np.ndarray]:
        signed = taylor * float(sign) ** np.arange(len(taylor))
        return np.convolve(signed, signed)[: len(taylor)], np.convolve(abs(signed), abs(signed))[: len(taylor)]

    (plus, plus_size), (minus, minus_size) = one_side(right, 1), one_side(left, -1)
    total = np.where(np.abs(plus + minus) > _VANISHING * (plus_size + minus_size), plus + minus, 0.0)
    return total * np.array([_absolute_moment(m) for m in range(len(total))]) / 2


@entry()
def kernel_series(activation: str | Activation | Callable[[Array], Array]) -> KernelSeries:
    """The series at zero, with derivatives of order five, or nine when those show no correction.

    `DomainError` where a derivative at zero is infinite, as for $|z|^{3/2}$: there is no such series.

    Examples:
        >>> fw.critical.kernel_series("tanh").a1
        -2.0
    """
    sigma = as_activation(activation)
    series = series_at_zero(sigma)
    if not series.complete:
        got = f"{sigma.name!r}, which has an infinite derivative at zero"
        raise DomainError("activation", got, "finite derivatives on either side of zero")
    return series


def series_at_zero(activation: Activation) -> KernelSeries:
    """The series, as far as it goes."""
    right, left = derivatives_at_zero(activation, _ORDERS[0])
    infinite = np.flatnonzero(np.isinf(right) | np.isinf(left))
    if len(infinite):
        return _incomplete(activation, right, left, int(infinite[0]))
    series = _series(activation, right, left)
    if series.A2 > 0 and series.sigma_0 == 0 and series.growth() is None and not is_straight(activation):
        series = _series(activation, *derivatives_at_zero(activation, _ORDERS[1]))
    return series


def _incomplete(activation: Activation, right: np.ndarray, left: np.ndarray, first: int) -> KernelSeries:
    known = np.arange(len(right)) < first
    series = _series(activation, np.where(known, right, 0.0), np.where(known, left, 0.0))
    slopes = np.where(np.arange(len(right) - 1) == 0, np.inf, 0.0) if first == 1 else series.mean_square_slope
    return replace(series, mean_square_slope=slopes, complete=False)


def is_straight(activation: Activation) -> bool:
    """Whether it consists of two lines up to the first kink on either side, or up to one: no power is there to be found."""
    right, left = derivatives_at_zero(activation, 1)
    z = min([1.0, *(abs(kink) for kink in activation.kinks if kink)]) * np.array([0.9, 0.5])
    values = sampled(activation.value, np.concatenate([z, -z]))[0]
    return bool(np.allclose(values, np.concatenate([z * right[1], -z * left[1]]), rtol=1e-13, atol=0.0))


def _without_rounding(derivatives: np.ndarray) -> np.ndarray:
    """The derivatives whose Taylor terms count beside the others at some distance from zero, and zeros for the others.

    One that should vanish is read as 1e-17 or less: alone in its power of K, its sign would decide what the kernel does.
    """
    orders = np.arange(len(derivatives))
    terms = np.abs(derivatives) / np.array([math.factorial(p) for p in orders]) * _REACHED[:, None] ** orders
    counts = (terms > _VANISHING * terms.max(axis=1, keepdims=True)).any(axis=0)
    return np.where(counts, derivatives, 0.0)


def _series(activation: Activation, right: np.ndarray, left: np.ndarray) -> KernelSeries:
    right, left = _without_rounding(right), _without_rounding(left)
    unit = size(activation.value)
    factorials = np.array([math.factorial(p) for p in range(len(right))])
    right_taylor, left_taylor = right / factorials, left / factorials
    if max(abs(right[0]), abs(left[0])) < _VANISHING * unit:
        # With sigma(0) = 0 the next derivative does not enter the next power yet: one more coefficient is known.
        right_taylor, left_taylor = (np.append([0.0], np.append(side[1:], 0.0)) for side in (right_taylor, left_taylor))
    slopes = (side[1:] / factorials[:-1] for side in (right, left))
    return KernelSeries(right, left, _squared_series(right_taylor, left_taylor), _squared_series(*slopes), unit)
