"""A function of one Gaussian variable, with what averaging needs to know about it."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array

ElementwiseFunction = Callable[[Array], Array]

# One-sided limits at a kink are read this far from it: below the accuracy asked of any average,
# above the spacing of floating-point numbers near kinks of order one.
_BESIDE_A_KINK = 1e-12
_JUMP = 1e-6  # one-sided limits are taken at a small distance: a smaller jump is none


def differentiate(function: ElementwiseFunction) -> ElementwiseFunction:
    """The derivative of an elementwise function, itself elementwise."""

    def derivative(z: Array) -> Array:
        return jax.jvp(function, (z,), (jnp.ones_like(z),))[1]

    return derivative


@dataclass(frozen=True)
class Function:
    """An elementwise JAX function `value`, analytic except at the points `kinks`.

    Subclasses that know Gaussian averages of themselves in closed form override `closed_pair`,
    `closed_square` and `closed_product`; everything else is integrated numerically.
    """

    value: ElementwiseFunction
    kinks: tuple[float, ...] = ()

    def __call__(self, z: Array) -> Array:
        """The function's value, elementwise."""
        return self.value(z)

    def derivative(self, order: int) -> ElementwiseFunction:
        """The regular part of the `order`-th derivative: what it is away from the kinks."""
        function: ElementwiseFunction = self
        for _ in range(order):
            function = differentiate(function)
        return function

    def jumps(self, order: int) -> Float[Array, " kinks"]:
        """The jump of the `order`-th derivative across each kink."""
        at = jnp.asarray(self.kinks, dtype=float)
        beside = _BESIDE_A_KINK * jnp.maximum(1.0, jnp.abs(at))
        function = self.derivative(order)
        return function(at + beside) - function(at - beside)

    def has_jump(self, order: int) -> bool:
        """Whether the `order`-th derivative jumps at a kink."""
        with jax.ensure_compile_time_eval():
            return bool(self.kinks) and bool((jnp.abs(self.jumps(order)) > _JUMP).any())

    @property
    def has_closed_pair(self) -> bool:
        """Whether `closed_pair` knows all moments of even total order, so that no quadrature is needed for pairs."""
        return False

    def closed_pair(self, i: int, j: int, Kaa: Array, Kab: Array, Kbb: Array) -> Array | None:
        r"""$\langle f^{(i)}(z_a)\,f^{(j)}(z_b)\rangle_K$ in closed form, elementwise (`Kab` has the full shape), or `None`."""
        return None

    def closed_square(self, K: Array) -> Array | None:
        r"""$\langle f(z)^2\rangle_K$ in closed form, elementwise and differentiable in `K`, or `None`."""
        return None

    @property
    def has_closed_product(self) -> bool:
        """Whether `closed_product` knows the average of any number of undifferentiated factors."""
        return False

    def closed_product(self, orders: tuple[int, ...], K: Float[Array, "n n"]) -> Array | None:
        r"""$\langle\prod_i f^{(k_i)}(z_i)\rangle_K$ in closed form, or `None`."""
        return None

    def closed_powers(self, exponents: tuple[tuple[int, int], ...], K: Float[Array, "n n"]) -> Array | None:
        r"""$\langle\prod_i f(z_i)^{p_i}f'(z_i)^{q_i}\rangle_K$ in closed form, where it is not a `closed_product`."""
        return None
