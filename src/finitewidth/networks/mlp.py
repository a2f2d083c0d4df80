"""The multilayer perceptron of PDLT chapter 2, described once and never changed."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import ArgumentError, DomainError
from .._signature import type_of
from .._validation import as_inputs, as_widths, is_concrete, per_layer
from ..activations import Activation, as_activation
from .layer import Layer
from .network import Network

_ROUNDING = 1e-10  # of a kernel, relative to its largest entry


class MLP(Network):
    r"""A fully connected network with Gaussian parameters.

    $$z^{(1)}_{i} = b^{(1)}_i + \sum_j W^{(1)}_{ij} x_j,\qquad
      z^{(\ell+1)}_{i} = b^{(\ell+1)}_i + \sum_j W^{(\ell+1)}_{ij}\,\sigma(z^{(\ell)}_j)\quad\text{PDLT (2.5)}$$

    with $E[b_i^2] = C_b^{(\ell)}$ and $E[W_{ij}^2] = C_W^{(\ell)}/n_{\ell-1}$, PDLT (2.19)-(2.20).

    **Arguments:**

    - `activation`: a name (`finitewidth activations` lists them), an `Activation`, or any elementwise JAX callable.
    - `widths`: $n_0, \dots, n_L$: the input dimension, the hidden widths, the output dimension.
    - `C_b`, `C_W`: variances of biases and of rescaled weights; scalars, or one value per layer.
    - `lambda_b`, `lambda_W`: relative learning rates, scalars or one value per layer: under gradient descent with global
      rate $\eta$ a bias moves at $\eta\lambda_b^{(\ell)}$ and a weight at $\eta\lambda_W^{(\ell)}/n_{\ell-1}$, PDLT (8.6).
    """

    activation: Activation = eqx.field(static=True)
    widths: tuple[int, ...] = eqx.field(static=True)
    C_b: Float[Array, " L"]
    C_W: Float[Array, " L"]
    lambda_b: Float[Array, " L"]
    lambda_W: Float[Array, " L"]

    @entry()
    def __init__(
        self,
        activation: str | Activation | Callable[[Array], Array],
        widths: Sequence[int],
        C_b: Any = 0.0,
        C_W: Any = 1.0,
        lambda_b: Any = 1.0,
        lambda_W: Any = 1.0,
    ):
        self.activation = as_activation(activation)
        self.widths = as_widths(widths, "widths")
        self.C_b = per_layer(C_b, "C_b", self.depth)
        self.C_W = per_layer(C_W, "C_W", self.depth)
        self.lambda_b = per_layer(lambda_b, "lambda_b", self.depth)
        self.lambda_W = per_layer(lambda_W, "lambda_W", self.depth)

    @property
    def depth(self) -> int:
        """The number of layers L, the output included."""
        return len(self.widths) - 1

    @property
    def hidden_widths(self) -> tuple[int, ...]:
        """Widths $n_1, \\dots, n_{L-1}$ of the layers that fluctuate."""
        return self.widths[1:-1]

    @property
    def layers(self) -> Layer:
        r"""All layers, stacked: `net.layers[l - 1]` is layer $\ell$."""
        inverse_widths = np.asarray([0.0] + [1.0 / n for n in self.hidden_widths])
        return Layer(self.C_b, self.C_W, self.lambda_b, self.lambda_W, inverse_widths)

    @property
    def parameters(self) -> int:
        r"""Number of parameters $P = \sum_\ell (n_\ell + n_\ell n_{\ell-1})$, PDLT (2.7)."""
        return sum(n + n * m for m, n in zip(self.widths, self.widths[1:], strict=False))

    @property
    def depth_over_width(self) -> float:
        r"""The expansion parameter $\sum_{\ell<L} 1/n_\ell$: $L/n$ for equal widths, PDLT (0.14)."""
        return float(sum(1.0 / n for n in self.hidden_widths))

    def first_kernel(self, x: Any) -> Float[Array, "N N"]:
        r"""$K^{(1)}_{\alpha\beta} = C_b^{(1)} + C_W^{(1)}\,x_\alpha\cdot x_\beta/n_0$, PDLT (4.8)."""
        kernel = self.layers[0].kernel(self.overlap(x))
        if is_concrete(kernel) and not np.isfinite(np.asarray(kernel)).all():
            raise DomainError("x", "samples so large that their squares overflow", "smaller samples, or a smaller C_W")
        if is_concrete(kernel) and not bool((np.diagonal(np.asarray(kernel)) > 0).all()):
            raise DomainError(
                "x",
                "a sample whose first-layer kernel is zero",
                "non-zero samples, or C_b > 0 and C_W > 0 in the first layer",
            )
        return kernel

    def overlap(self, x: Any) -> Float[Array, "N N"]:
        r"""$x_\alpha\cdot x_\beta/n_0$: what the inputs are to the network."""
        inputs = as_inputs(x, "x", self.widths[0])
        with np.errstate(over="ignore", invalid="ignore"):  # `first_kernel` sees what overflows
            return inputs @ inputs.T / self.widths[0]

    def overlap_behind(self, kernel: Float[Array, "*batch N N"]) -> Float[Array, "*batch N N"]:
        r"""$x_\alpha\cdot x_\beta/n_0 = (K^{(1)}_{\alpha\beta}-C_b^{(1)})/C_W^{(1)}$, read off a first kernel by PDLT (4.8)."""
        if is_concrete(self.C_W) and np.asarray(self.C_W)[0] == 0:
            raise DomainError(
                "C_W",
                "0 in the first layer",
                "C_W > 0, from which x_a . x_b is read off the first kernel; or inputs `x`",
            )
        of_weights = kernel - self.C_b[0]
        if is_concrete(of_weights) and _is_indefinite(np.asarray(of_weights), float(np.abs(kernel).max())):
            want = "a kernel C_b + C_W x_a . x_b/n_0 of some inputs: positive semi-definite when C_b is taken off"
            raise DomainError("kernel", f"one that no inputs have at C_b = {float(self.C_b[0]):g}", want)
        return of_weights / self.C_W[0]

    def first_tangent_kernel(self, overlap: Float[Array, "*N"]) -> Float[Array, "*N"]:
        r"""$\Theta^{(1)}_{\alpha\beta} = \lambda_b^{(1)} + \lambda_W^{(1)}\,x_\alpha\cdot x_\beta/n_0$, PDLT (8.23), from the
        `overlap` of the inputs."""
        return self.layers[0].own_tangent_kernel(overlap)

    def __repr__(self) -> str:
        def short(values: Array) -> str:
            if not is_concrete(values):
                return "traced"
            numbers = np.unique(np.asarray(values))
            return f"{numbers[0]:g}" if len(numbers) == 1 else f"{numbers[0]:g}..{numbers[-1]:g}"

        settings = ", ".join(f"{name}={short(getattr(self, name))}" for name in ("C_b", "C_W", "lambda_b", "lambda_W"))
        return f"MLP({self.activation.name}, widths={self.widths}, {settings})"


def as_mlp(net: Any, argument: str = "net") -> MLP:
    """`net`, refused unless it is an MLP.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.networks.as_mlp(net) is net
        True
    """
    if not isinstance(net, MLP):
        raise ArgumentError(argument, type_of(net), "an MLP of finitewidth")
    return net


def _is_indefinite(matrices: Float[np.ndarray, "*batch N N"], scale: float) -> bool:
    """Whether some eigenvalue is negative beyond the rounding of numbers of this `scale`."""
    return float(np.linalg.eigvalsh(matrices).min()) < -_ROUNDING * scale * matrices.shape[-1]
