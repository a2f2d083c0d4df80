"""The fully connected block."""

import equinox as eqx
from jaxtyping import Float

from ..._arrays import Array
from ..._errors import ArgumentError
from ..._validation import as_count
from ..mlp import MLP
from .activation import ShapedActivation, shaped_relu
from .block import ShapedBlock, Square
from .sublayers import FullyConnected, Sublayer


class ShapedMLP(ShapedBlock):
    r"""$h' = \sqrt{c/n}\,W\varphi_s(h)$ with $W_{ij} \sim N(0, 1)$ and $c\,E[\varphi_s(w)^2] = 1$.

    Its limit is $dV = b(V)\,dt + \Sigma_{\rm lin}(V)^{1/2}dB$ (lecture 17; Shaped Transformer Eq. 3), $b$ the drift of the
    activation. With an exponent $p > 1/2$ the drift vanishes: a linear network. With $p < 1/2$ depth time is
    $t = \ell n^{-2p}$ and the noise vanishes.
    """

    activation: ShapedActivation = eqx.field(static=True)

    def __init__(self, activation: ShapedActivation | None = None):
        activation = shaped_relu() if activation is None else activation
        if not isinstance(activation, ShapedActivation):
            wanted = "a shaped activation: `shaped_relu(...)` or `shaped_smooth(...)`"
            raise ArgumentError("activation", repr(activation), wanted)
        self.activation = activation

    def sublayers(self, width: int, tokens: int) -> tuple[Sublayer, ...]:
        """One fully connected layer."""
        return (FullyConnected(self.activation.usable_at(width), self.activation.normalisation(width)),)

    def as_mlp(self, width: int, depth: int, inputs: int, outputs: int = 1) -> MLP:
        r"""`at(width, depth)` as an `MLP`, for every verb that takes one: $C_W = \lambda_W = c$, but one in the first layer, and no
        biases.

        Under gradient descent at rate $\eta$ its weights move as $W$ in $\sqrt{c/n}\,W\varphi$ does. It takes `inputs` $= n_0$ features, so
        that $\Phi_0 = xx^{\mathsf T}/n_0$.

        Examples:
            >>> net = fw.ShapedMLP(fw.shaped.shaped_relu(1.0, -1.0)).as_mlp(16, 4, inputs=2)
            >>> net.widths
            (2, 16, 16, 16, 16, 1)
        """
        n, d = as_count(width, "width"), as_count(depth, "depth")
        c = [1.0] + [self.activation.normalisation(n)] * d
        widths = (as_count(inputs, "inputs"), *[n] * d, as_count(outputs, "outputs"))
        return MLP(self.activation.usable_at(n), widths, C_W=c, lambda_b=0.0, lambda_W=c)

    @property
    def time_exponent(self) -> float:
        r"""$\min(1, 2p)$."""
        return min(1.0, 2 * self.activation.exponent)

    @property
    def value_noise(self) -> float:
        """1, or 0 where the drift is so fast that the noise has no time to act."""
        return float(self.activation.exponent >= 0.5)

    @property
    def _drifts(self) -> bool:
        return self.activation.exponent <= 0.5

    def drift_inside(self, V: Square) -> Square:
        """The drift of the activation."""
        return self.activation.drift(V) if self._drifts else 0 * V

    def positive_drift(self, V: Square) -> Square | None:
        """The positive part of the activation's drift."""
        return self.activation.positive_drift(V) if self._drifts else None

    def positive_growth(self, V: Square) -> Float[Array, " m"] | None:
        """Its diagonal."""
        return self.activation.positive_growth(V) if self._drifts else None

    def generator(self, V: Square) -> Square | None:
        """What is left of the activation's drift, as a map of tokens."""
        return self.activation.generator(V) if self._drifts else None

    @property
    def largest_step(self) -> float:
        """The longest step for which the activation's drift keeps covariances positive."""
        return self.activation.largest_step if self._drifts else float("inf")
