"""The residual block of two matrices."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp

from ..._arrays import Array
from ..._errors import DomainError
from ..._validation import as_number
from .activation import ShapedReLU, shaped_relu
from .block import Square
from .residual import ResidualBlock, as_gamma
from .sublayers import FeedForwardBranch, Residual, Sublayer, hidden_units


class ShapedResNet(ResidualBlock):
    r"""$X' = \lambda X + \gamma\,\varphi_s(XW^{\rm pre}/\sqrt n)\sqrt{c/n_h}\,W^{\rm post}$, $\lambda^2 + \gamma^2 = 1$
    (Shaped Transformer Eq. 4), with `hidden_ratio` $= n_h/n$ hidden units a unit of width.

    Its limit is $dV = \gamma^2b_{\rm ReLU}(V)\,dt + (\gamma^2[2 - \gamma^2(1 - n/n_h)]\,\Sigma_{\rm lin}(V))^{1/2}dB$
    (Shaped Transformer Thm 3.2 for $n_h = n$).
    """

    c_plus: float = eqx.field(static=True)
    c_minus: float = eqx.field(static=True)
    hidden_ratio: float = eqx.field(static=True)

    def __init__(self, gamma: Any, c_plus: float = 0.0, c_minus: float = -1.0, hidden_ratio: float = 1.0):
        self.gamma = as_gamma(gamma)
        self.c_plus, self.c_minus = as_number(c_plus, "c_plus"), as_number(c_minus, "c_minus")
        self.hidden_ratio = as_number(hidden_ratio, "hidden_ratio", low=0.0)
        if self.hidden_ratio == 0:
            raise DomainError("hidden_ratio", hidden_ratio, "a positive number n_h/n")

    @property
    def activation(self) -> ShapedReLU:
        """The shaped ReLU between the two matrices, shaped by the width $n$ of the stream."""
        return shaped_relu(self.c_plus, self.c_minus)

    def sublayers(self, width: int, tokens: int) -> tuple[Sublayer, ...]:
        """One residual layer with a feedforward branch."""
        sigma, units = self.activation, hidden_units(self.hidden_ratio, width)
        branch = FeedForwardBranch(sigma.usable_at(width), sigma.normalisation(width), units)
        return (Residual(branch, self.skip, jnp.asarray(self.gamma)),)

    @property
    def value_noise(self) -> Array | float:
        r"""$\gamma^2[2 - \gamma^2(1 - n/n_h)]$."""
        return self.residual_noise(branch=1 / self.hidden_ratio)

    def drift_inside(self, V: Square) -> Square:
        r"""$\gamma^2b_{\rm ReLU}(V)$."""
        return self.gamma**2 * self.activation.drift(V)

    def positive_drift(self, V: Square) -> Square | None:
        """All of it."""
        return self.drift_inside(V) if self.activation.chi_squared else None

    @property
    def largest_step(self) -> Array | float:
        r"""$1/(\gamma^2\chi^2)$."""
        return self.activation.largest_step / jnp.square(self.gamma)
