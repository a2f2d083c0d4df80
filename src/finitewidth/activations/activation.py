"""What a network needs to know of its activation."""

from dataclasses import dataclass, field

import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError
from ..gaussian.function import Function


@dataclass(frozen=True)
class Activation(Function):
    """An activation: a `Function` with a name, and its formula for people to read.

    Any elementwise JAX callable becomes one: `Activation(value=lambda z: z * jnp.exp(-z**2), name="mexican")`.
    Points where the function or a derivative jumps are its `kinks`; a network looks for those that are not declared.
    """

    name: str = field(default="custom", kw_only=True)
    formula: str = field(default="", kw_only=True)

    @entry()
    def fingerprint_values(self) -> Float[Array, " probes"]:
        """Values by which an activation is known, whatever it is called: two lambdas of one formula are the same."""
        return self(jnp.linspace(-6.0, 6.0, 241))

    @entry()
    def taylor(self, order: int = 5) -> Float[Array, " orders"]:
        r"""Derivatives at zero, $\sigma_p = \sigma^{(p)}(0)$ for $p = 0..$`order` (PDLT section 5.3).

        `DomainError` where zero is a kink: there is no Taylor series.
        """
        if 0.0 in self.kinks:
            raise DomainError("activation", f"{self.name}, with a kink at zero", "an activation smooth at zero")
        return jnp.stack([self.derivative(p)(jnp.zeros(())) for p in range(order + 1)])
