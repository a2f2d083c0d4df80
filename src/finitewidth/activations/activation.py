"""What a network needs to know of its activation."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
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
    maker: tuple[Callable[..., Any], tuple[Any, ...]] | None = field(
        default=None, kw_only=True, compare=False, repr=False
    )
    """A function of the library with arguments from which it gives this activation; `None` for callables of the user's."""

    @property
    def recipe(self) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
        """Its maker, by which it is pickled, copied and saved; `None` if it was changed since."""
        if self.maker is None:
            return None
        function, arguments = self.maker
        return self.maker if function(*arguments) == self else None

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.recipe or super().__reduce_ex__(protocol)

    @entry(nan=True)
    def fingerprint_values(self) -> Float[Array, " probes"]:
        """Values by which an activation is known, whatever it is called: two lambdas of one formula are the same."""
        return self(jnp.asarray(np.linspace(-6.0, 6.0, 241)))

    @entry()
    def taylor(self, order: int = 5) -> Float[Array, " orders"]:
        r"""Derivatives at zero, $\sigma_p = \sigma^{(p)}(0)$ for $p = 0..$`order` (PDLT section 5.3).

        `DomainError` where zero is a kink: there is no Taylor series.
        """
        if 0.0 in self.kinks:
            raise DomainError("activation", f"{self.name}, with a kink at zero", "an activation smooth at zero")
        return jnp.stack([self.derivative(p)(jnp.zeros(())) for p in range(order + 1)])
