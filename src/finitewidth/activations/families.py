"""Activations whose Gaussian averages are known in closed form."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError
from .._validation import as_count, as_number
from ..gaussian.orthants import absolute_value_product, step_product
from ..gaussian.places import Places
from ..gaussian.sign_moments import two_slope_averages
from .activation import Activation
from .closed_pairs import MomentFormula, absolute_value_pair, monomial_pair, step_pair


@dataclass(frozen=True)
class ScaleInvariant(Activation):
    r"""$\sigma(z) = a_+ z$ for $z \ge 0$ and $a_- z$ for $z < 0$, PDLT (2.13)-(2.14); equivalently $s z + t|z|$."""

    a_plus: float = field(default=1.0, kw_only=True)
    a_minus: float = field(default=0.0, kw_only=True)

    @property
    def odd_slope(self) -> float:
        """$s = (a_+ + a_-)/2$."""
        return (self.a_plus + self.a_minus) / 2

    @property
    def even_slope(self) -> float:
        """$t = (a_+ - a_-)/2$."""
        return (self.a_plus - self.a_minus) / 2

    @property
    def A2(self) -> float:
        """$(a_+^2 + a_-^2)/2$, PDLT (5.61)."""
        return (self.a_plus**2 + self.a_minus**2) / 2

    @property
    def A4(self) -> float:
        """$(a_+^4 + a_-^4)/2$, PDLT (5.114)."""
        return (self.a_plus**4 + self.a_minus**4) / 2

    @property
    def has_closed_pair(self) -> bool:
        """Averages of pieces of lines are angles and sines of angles, whatever the slopes."""
        return True

    def closed_pair(self, i: int, j: int, Kaa: Array, Kab: Array, Kbb: Array) -> Array | None:
        """PDLT (5.159) and (5.161) for unequal norms, with all derivatives; even `i + j`."""
        if (i + j) % 2:
            return None
        odd = {(0, 0): Kab, (1, 1): jnp.ones_like(Kab)}.get((i, j), jnp.zeros_like(Kab))
        return self.odd_slope**2 * odd + self.even_slope**2 * absolute_value_pair(i, j, Kaa, Kab, Kbb)

    def closed_square(self, K: Array, slope: int = 0) -> Array | None:
        """$A_2 K$, PDLT (5.62), and $A_2$ of slopes."""
        return (self.A2 * K, jnp.full_like(K, self.A2))[slope] if slope < 2 else None

    @property
    def size(self) -> float:
        """Known, as is all that follows: others are evaluated, operation by operation, each of which JAX compiles."""
        return 3 * max(abs(self.a_plus), abs(self.a_minus))

    @property
    def places(self) -> Places:
        """The kink; lines vary nowhere else."""
        return Places(self.kinks or (0.0,))

    def vanishes(self, order: int) -> bool:
        """From the second derivative on."""
        return bool(self.kinks) and order > 1

    def _beside_kinks(self, order: int, beside: float) -> Float[Array, "2 kinks"]:
        slopes = np.array([[self.a_minus], [self.a_plus]])
        if order < 2:
            return slopes * (np.array([[-beside], [beside]]) if order == 0 else 1.0)
        return np.zeros_like(slopes)

    @property
    def has_closed_product(self) -> bool:
        """With a kink, orthant moments; without, Hermite modes are as exact and smoother."""
        return bool(self.kinks)

    def closed_product(self, orders: tuple[int, ...], K: Float[Array, "n n"]) -> Array | None:
        """Products of undifferentiated activations, by orthant moments."""
        if any(orders) or not self.kinks:
            return None
        return absolute_value_product(self.odd_slope, self.even_slope, K)

    def closed_powers(
        self, patterns: tuple[tuple[tuple[int, int], ...], ...], K: Float[Array, "n n"]
    ) -> Float[Array, " patterns"] | None:
        """Products of activations and slopes, by moments of signs."""
        bare = {sum(p for p, _ in exponents) for exponents in patterns}
        once = all(p < 2 for exponents in patterns for p, _ in exponents)
        if not bare <= {0, 2, 4} or len(K) > 4 or (len(K) == 4 and not once):
            return None
        return two_slope_averages(self.a_plus, self.a_minus, patterns, K)


@dataclass(frozen=True)
class Step(Activation):
    """The perceptron's step function, PDLT (2.9)."""

    @property
    def has_closed_pair(self) -> bool:
        """Averages of steps are angles: the formula of the orthant of two variables."""
        return True

    def closed_pair(self, i: int, j: int, Kaa: Array, Kab: Array, Kbb: Array) -> Array | None:
        """Even `i + j`; zero for derivatives at coincidence."""
        return None if (i + j) % 2 else step_pair(i, j, Kaa, Kab, Kbb)

    def closed_square(self, K: Array, slope: int = 0) -> Array | None:
        """One half at every variance."""
        return None if slope else jnp.full_like(K, 0.5)

    @property
    def has_closed_product(self) -> bool:
        """Orthant probabilities."""
        return True

    def closed_product(self, orders: tuple[int, ...], K: Float[Array, "n n"]) -> Array | None:
        """Orthant probabilities."""
        return None if any(orders) else step_product(K)


@dataclass(frozen=True)
class ClosedPair(Activation):
    """A smooth activation with a closed two-point average."""

    pair: MomentFormula = field(kw_only=True)

    @property
    def has_closed_pair(self) -> bool:
        """The formula that it was made with."""
        return True

    def closed_pair(self, i: int, j: int, Kaa: Array, Kab: Array, Kbb: Array) -> Array | None:
        """The formula; even `i + j`."""
        return None if (i + j) % 2 else self.pair(i, j, Kaa, Kab, Kbb)

    def closed_square(self, K: Array, slope: int = 0) -> Array | None:
        """The pair at coincidence."""
        return self.closed_pair(slope, slope, K, K, K)


@dataclass(frozen=True)
class Monomial(Activation):
    """$z^p$, PDLT (5.74)."""

    power: int = field(kw_only=True)

    @property
    def has_closed_pair(self) -> bool:
        """Moments of Gaussians, by Wick's theorem."""
        return True

    def closed_pair(self, i: int, j: int, Kaa: Array, Kab: Array, Kbb: Array) -> Array | None:
        """Wick's theorem."""
        p = self.power
        return math.perm(p, i) * math.perm(p, j) * monomial_pair(p - i, p - j, Kaa, Kab, Kbb)

    def closed_square(self, K: Array, slope: int = 0) -> Array | None:
        """The pair at coincidence."""
        return self.closed_pair(slope, slope, K, K, K)


@dataclass(frozen=True)
class ExponentialSum(Activation):
    r"""$\sigma(z) = \mathrm{Re}\sum_m c_m e^{\lambda_m z}$: sine, cosine, exponentials. Every average is a finite sum,
    $\langle\prod_i e^{\lambda_i z_i}\rangle_K = e^{\lambda^T K\lambda/2}$, PDLT (1.41)."""

    coefficients: tuple[complex, ...] = field(kw_only=True)
    rates: tuple[complex, ...] = field(kw_only=True)

    @property
    def has_closed_pair(self) -> bool:
        """Gaussian averages of exponentials are exponentials."""
        return True

    def closed_pair(self, i: int, j: int, Kaa: Array, Kab: Array, Kbb: Array) -> Array | None:
        """Finite sum over pairs of exponentials."""
        total = jnp.zeros_like(Kab)
        for (c, p), (d, q) in itertools.product(zip(self.coefficients, self.rates, strict=True), repeat=2):
            weight = c * p**i * d * q**j
            if weight:
                total = total + (weight * jnp.exp((p * p * Kaa + q * q * Kbb) / 2 + p * q * Kab)).real
        return total

    def closed_square(self, K: Array, slope: int = 0) -> Array | None:
        """The pair at coincidence."""
        return self.closed_pair(slope, slope, K, K, K)

    @property
    def has_closed_product(self) -> bool:
        """Finite sums."""
        return True

    def closed_product(self, orders: tuple[int, ...], K: Float[Array, "n n"]) -> Array | None:
        """Finite sum over all choices of one exponential per variable."""
        terms = list(itertools.product(range(len(self.rates)), repeat=len(orders)))
        rates = np.asarray(self.rates)[terms]
        weights = np.prod(np.asarray(self.coefficients)[terms] * rates ** np.asarray(orders), axis=1)
        return jnp.sum((weights * jnp.exp(jnp.einsum("ti,ij,tj->t", rates, K, rates) / 2)).real)


@entry()
def scale_invariant(a_plus: float, a_minus: float, name: str = "scale_invariant") -> ScaleInvariant:
    """The piecewise linear activation with slopes `a_plus` (right) and `a_minus` (left).

    Examples:
        >>> fw.activations.scale_invariant(1.0, -0.5).formula
        '1 z (z ≥ 0), -0.5 z (z < 0)'
    """
    right, left = as_number(a_plus, "a_plus"), as_number(a_minus, "a_minus")
    if right == left == 0:
        raise DomainError("a_plus, a_minus", "both zero", "at least one non-zero slope")
    kinks = () if right == left else (0.0,)
    formula = f"{right:g} z (z ≥ 0), {left:g} z (z < 0)" if kinks else f"{right:g} z"

    def value(z: Array) -> Array:
        return jnp.where(z >= 0, right * z, left * z) if kinks else right * z

    return ScaleInvariant(
        _NamedValue(value, (right, left)),
        kinks,
        name=name,
        formula=formula,
        a_plus=right,
        a_minus=left,
        maker=(scale_invariant, (right, left, name)),
    )


@entry()
def scale_invariant_like(activation: Activation) -> ScaleInvariant | None:
    """The scale-invariant activation that equals this one, if it consists of two half-lines through zero."""
    z = np.array([1.0, 1e-3, 0.3, 7.0, 40.0])
    right, left = (np.asarray(activation(jnp.asarray(side * z))) / (side * z) for side in (1, -1))
    lines = all(np.allclose(slopes, slopes[0], rtol=1e-13, atol=0.0) for slopes in (right, left))
    if not lines or right[0] == left[0] == 0:
        return None
    return scale_invariant(float(right[0]), float(left[0]), activation.name)


def leaky_relu(slope: float = 0.01) -> ScaleInvariant:
    """Leaky ReLU: slope one on the right, `slope` on the left.

    Examples:
        >>> fw.activations.leaky_relu(0.2).A2
        0.52
    """
    return scale_invariant(1.0, as_number(slope, "slope"), "leaky_relu")


@entry()
def monomial(power: int) -> Monomial:
    """$z^p$ for an integer $p \\ge 1$.

    Examples:
        >>> fw.activations.monomial(3).formula
        'z^3'
    """
    p = as_count(power, "power")
    named = _NamedValue(lambda z: z**p, ("power", p))
    return Monomial(named, name=f"z^{p}", formula=f"z^{p}", power=p, maker=(monomial, (p,)))


@entry()
def exponential(rate: float = 1.0) -> ExponentialSum:
    """$e^{az}$.

    Examples:
        >>> fw.activations.exponential(0.5).formula
        'e^(0.5 z)'
    """
    a = as_number(rate, "rate")
    return ExponentialSum(
        _NamedValue(lambda z: jnp.exp(a * z), ("exp", a)),
        name="exp" if a == 1 else f"exp({a:g}z)",
        formula="e^z" if a == 1 else f"e^({a:g} z)",
        coefficients=(1.0,),
        rates=(a,),
        maker=(exponential, (a,)),
    )


@dataclass(frozen=True)
class _NamedValue:
    """A function that equals another made from the same parameters, so that compiled code is found again."""

    function: Callable[[Array], Array] = field(compare=False)
    parameters: tuple[object, ...]

    def __call__(self, z: Array) -> Array:
        return self.function(z)
