"""The residual block of two matrices."""

from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from ..._arrays import Array, at_hand
from ..._errors import ArgumentError, DomainError
from ..._validation import as_number
from .activation import ShapedActivation, shaped_relu
from .block import Square
from .residual import ResidualBlock, as_gamma
from .sublayers import FeedForwardBranch, Residual, Sublayer, hidden_units


class ShapedResNet(ResidualBlock):
    r"""$X' = \lambda X + \gamma\,\varphi_s(XW^{\rm pre}/\sqrt n)\sqrt{c/n_h}\,W^{\rm post}$, $\lambda^2 + \gamma^2 = 1$
    (Shaped Transformer Eq. 4), with `hidden_ratio` $= n_h/n$ hidden units a unit of width.

    Its limit is $dV = \gamma^2b(V)\,dt + (\gamma^2[2 - \gamma^2(1 - n/n_h)]\,\Sigma_{\rm lin}(V))^{1/2}dB$
    (Shaped Transformer Thm 3.2 for $n_h = n$), $b$ the drift of the activation.

    **Arguments:**

    - `gamma`: weight of the branch.
    - `c_plus`, `c_minus`: slopes of the shaped ReLU between the two matrices, which is shaped by the width $n$ of the stream.
    - `hidden_ratio`: $n_h/n$.
    - `activation`: instead of that ReLU, any shaped activation of exponent 1/2, such as `shaped_smooth("gelu")`.
    """

    activation: ShapedActivation = eqx.field(static=True)
    hidden_ratio: float = eqx.field(static=True)

    def __init__(
        self,
        gamma: Any,
        c_plus: float = 0.0,
        c_minus: float = -1.0,
        hidden_ratio: float = 1.0,
        activation: ShapedActivation | None = None,
    ):
        self.gamma = as_gamma(gamma)
        self.activation = shaped_relu(c_plus, c_minus) if activation is None else activation
        if not isinstance(self.activation, ShapedActivation) or self.activation.exponent != 0.5:
            wanted = "a shaped activation of exponent 1/2: `shaped_relu(...)` or `shaped_smooth(...)`"
            raise ArgumentError("activation", repr(activation), wanted)
        if activation is not None and (c_plus, c_minus) != (0.0, -1.0):
            raise ArgumentError("c_plus, c_minus", f"{c_plus}, {c_minus} beside an activation", "one or the other")
        self.hidden_ratio = as_number(hidden_ratio, "hidden_ratio", low=0.0)
        if self.hidden_ratio == 0:
            raise DomainError("hidden_ratio", hidden_ratio, "a positive number n_h/n")

    def sublayers(self, width: int, tokens: int) -> tuple[Sublayer, ...]:
        """One residual layer with a feedforward branch."""
        sigma, units = self.activation, hidden_units(self.hidden_ratio, width)
        branch = FeedForwardBranch(sigma.usable_at(width), sigma.normalisation(width), units)
        return (Residual(branch, self.skip, at_hand(self.gamma)),)

    @property
    def value_noise(self) -> Array | float:
        r"""$\gamma^2[2 - \gamma^2(1 - n/n_h)]$."""
        return self.residual_noise(branch=1 / self.hidden_ratio)

    def drift_inside(self, V: Square) -> Square:
        r"""$\gamma^2b(V)$."""
        return self.gamma**2 * self.activation.drift(V)

    def positive_drift(self, V: Square) -> Square | None:
        r"""$\gamma^2$ times that of the activation."""
        positive = self.activation.positive_drift(V)
        return None if positive is None else self.gamma**2 * positive

    def positive_growth(self, V: Square) -> Float[Array, " m"] | None:
        r"""$\gamma^2$ times that of the activation."""
        growth = self.activation.positive_growth(V)
        return None if growth is None else self.gamma**2 * growth

    def generator(self, V: Square) -> Square | None:
        r"""$\gamma^2$ times that of the activation."""
        growth = self.activation.generator(V)
        return None if growth is None else self.gamma**2 * growth

    @property
    def largest_step(self) -> Array | float:
        r"""That of the activation, divided by $\gamma^2$; $1/(\gamma^2\chi^2)$ for ReLU."""
        with np.errstate(divide="ignore"):
            return self.activation.largest_step / at_hand(self.gamma) ** 2
