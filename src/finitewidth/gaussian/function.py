"""A function of one Gaussian variable, with what averaging needs to know about it."""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._errors import ArgumentError, DomainError
from .derivatives import ElementwiseFunction, differentiate, evaluated
from .places import KINK_REACH, Places, find_places

# One-sided limits at a kink are read this far from it: below the accuracy asked of any average,
# above the spacing of floating-point numbers near kinks of order one.
_BESIDE_A_KINK = 1e-12
_AROUND_ZERO = 3.0
_PROBES = 64
_FARTHER = 1e-9  # from where to the kink itself a jump does not change
_POLE = 3.0  # a derivative that has grown so much from there to the kink is infinite
_JUMP = 1e-6  # one-sided limits are taken at a small distance: a smaller jump is none


@dataclass(frozen=True)
class Function:
    """An elementwise JAX function `value`, analytic except at the points `kinks`.

    Subclasses that know Gaussian averages of themselves in closed form override `closed_pair`,
    `closed_square` and `closed_product`; everything else is integrated numerically.
    """

    value: ElementwiseFunction
    kinks: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        try:
            kinks = tuple(float(kink) for kink in self.kinks)
        except (TypeError, ValueError):
            raise ArgumentError("kinks", repr(self.kinks), "the points where the function is not smooth") from None
        if not np.isfinite(kinks).all():
            raise DomainError("kinks", kinks, "finite points")
        if not callable(self.value):
            raise ArgumentError("value", type(self.value).__name__, "an elementwise function of jax.numpy")
        object.__setattr__(self, "kinks", kinks)  # a list or an array has no hash

    def __call__(self, z: Array) -> Array:
        """The function's value, elementwise."""
        return self.value(z)

    def derivative(self, order: int) -> ElementwiseFunction:
        """The regular part of the `order`-th derivative: what it is away from the kinks."""
        function: ElementwiseFunction = self
        for _ in range(order):
            function = differentiate(function)
        return function

    def vanishes(self, order: int) -> bool:
        """Whether the regular part of the `order`-th derivative is zero: as for the second of a function made of lines."""
        return bool(self.kinks) and _is_zero(self, order)

    def jumps(self, order: int, beside: float = _BESIDE_A_KINK) -> Float[Array, " kinks"]:
        """The jump of the `order`-th derivative across each kink, from two points `beside` it and the slopes there."""
        (below, above), (slope_below, slope_above) = (self._beside_kinks(n, beside) for n in (order, order + 1))
        return above - below - self._distance(beside) * (slope_below + slope_above)

    def _beside_kinks(self, order: int, beside: float) -> Float[Array, "2 kinks"]:
        """The `order`-th derivative on both sides of each kink."""
        at, distance = np.asarray(self.kinks, dtype=float), self._distance(beside)
        return self.derivative(order)(jnp.asarray(np.stack([at - distance, at + distance])))

    def _distance(self, beside: float) -> Float[np.ndarray, " kinks"]:
        return beside * np.maximum(1.0, np.abs(np.asarray(self.kinks, dtype=float)))

    def has_jump(self, order: int) -> bool:
        """Whether the `order`-th derivative jumps at a kink."""
        if not self.kinks:
            return False
        with jax.ensure_compile_time_eval():
            near, farther = (np.abs(self.jumps(order, beside)) for beside in (_BESIDE_A_KINK, _FARTHER))
        return bool(((near > _JUMP * self.size) & (near > farther / 2)).any())

    def is_infinite(self, order: int) -> bool:
        """Whether the `order`-th derivative is infinite beside a kink, as the first of a root: it grows over the last decades."""
        if not self.kinks:
            return False
        with jax.ensure_compile_time_eval():
            near, farther = (np.abs(self._beside_kinks(order, beside)) for beside in (_BESIDE_A_KINK, _FARTHER))
        return bool((near > _POLE * (farther + _JUMP * self.size)).any())

    @property
    def size(self) -> float:
        """The largest value around zero, in comparison with which others are small."""
        return _size(self.value)

    @property
    def places(self) -> Places:
        """Around which points, and on what scale, the function varies: where quadratures must look closely."""
        return find_places(self.value, self.kinks)

    @property
    def has_closed_pair(self) -> bool:
        """Whether `closed_pair` knows all moments of even total order, so that no quadrature is needed for pairs."""
        return False

    def closed_pair(self, i: int, j: int, Kaa: Array, Kab: Array, Kbb: Array) -> Array | None:
        r"""$\langle f^{(i)}(z_a)\,f^{(j)}(z_b)\rangle_K$ in closed form, elementwise (`Kab` has the full shape), or `None`."""
        return None

    def closed_square(self, K: Array, slope: int = 0) -> Array | None:
        r"""$\langle f^{(s)}(z)^2\rangle_K$, for the derivative $s$ = `slope`, in closed form, elementwise and differentiable in `K`,
        or `None`."""
        return None

    @property
    def has_closed_product(self) -> bool:
        """Whether `closed_product` knows the average of any number of undifferentiated factors."""
        return False

    def closed_product(self, orders: tuple[int, ...], K: Float[Array, "n n"]) -> Array | None:
        r"""$\langle\prod_i f^{(k_i)}(z_i)\rangle_K$ in closed form, or `None`."""
        return None

    def closed_powers(
        self, patterns: tuple[tuple[tuple[int, int], ...], ...], K: Float[Array, "n n"]
    ) -> Float[Array, " patterns"] | None:
        r"""$\langle\prod_i f(z_i)^{p_i}f'(z_i)^{q_i}\rangle_K$ in closed form, where it is not a `closed_product`."""
        return None


@functools.lru_cache(maxsize=512)
def _size(value: ElementwiseFunction) -> float:
    sizes = np.abs(evaluated(value, np.linspace(-_AROUND_ZERO, _AROUND_ZERO, 1024)))
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes))) or 1.0


@functools.lru_cache(maxsize=512)
def _is_zero(function: Function, order: int) -> bool:
    """Looked for everywhere, and on the scale of the function around its places: what is narrow has no tails to be found by."""
    places = function.places
    distances = places.scale * np.geomspace(0.1, KINK_REACH / places.scale, _PROBES)
    around = np.add.outer(np.asarray(places.points), np.concatenate([-distances, distances])).ravel()
    return not evaluated(function.derivative(order), around).any()
