"""What networks have in common that act layer by layer: inputs, widths, and the kernel of the first layer."""

from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._errors import ArgumentError, DomainError
from .._memory import check_memory
from .._signature import type_of
from .._validation import as_inputs, is_concrete
from ..activations import Activation
from .layer import Layer
from .network import Network

_MATRICES = 6  # of two samples that are alive while kernels are made
_ROUNDING = 1e-10  # of a kernel, relative to its largest entry


class LayeredNetwork(Network):
    r"""A network that makes each layer from the one before it, beginning with $z^{(1)}_i = b_i + \sum_jW_{ij}x_j$."""

    in_words: ClassVar[str] = "an MLP of finitewidth, or a ResidualMLP"

    activation: eqx.AbstractVar[Activation]
    widths: eqx.AbstractVar[tuple[int, ...]]
    r"""$n_0, \dots, n_L$."""
    C_b: eqx.AbstractVar[Float[Array, " L"]]
    C_W: eqx.AbstractVar[Float[Array, " L"]]
    lambda_b: eqx.AbstractVar[Float[Array, " L"]]
    lambda_W: eqx.AbstractVar[Float[Array, " L"]]

    layers: eqx.AbstractVar[Layer]
    r"""All layers, stacked: `net.layers[l - 1]` is layer $\ell$."""

    neurons_persist: eqx.AbstractVar[bool]
    """Whether a neuron keeps part of itself from layer to layer. If not, a layer's fluctuations are a recursion from those of the
    layer before; if so, they are a sum over pairs of depths."""

    @property
    def hidden_widths(self) -> tuple[int, ...]:
        """Widths $n_1, \\dots, n_{L-1}$ of the layers that fluctuate."""
        return self.widths[1:-1]

    @property
    def settings_of_kernels(self) -> tuple[Array, ...]:
        """All numbers that decide the law of its outputs; rates of learning do not."""
        return self.C_b, self.C_W

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

    def reading(self, x: Any) -> "LayeredNetwork":
        """The network for inputs such as `x`: where the number of features was left open, it is theirs."""
        return self

    def overlap(self, x: Any) -> Float[Array, "N N"]:
        r"""$x_\alpha\cdot x_\beta/n_0$: what the inputs are to the network."""
        n_0 = self.reading(x).widths[0]
        inputs = as_inputs(x, "x", n_0)
        check_memory(
            8.0 * _MATRICES * len(inputs) ** 2, "x", f"{len(inputs)} inputs", "fewer inputs: kernels have 8 N^2 bytes"
        )
        with np.errstate(over="ignore", invalid="ignore"):  # `first_kernel` sees what overflows
            return inputs @ inputs.T / n_0

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

    def settings(self) -> str:
        """The hyperparameters of its layers, for people to read."""

        def short(values: Array) -> str:
            if not is_concrete(values):
                return "traced"
            numbers = np.unique(np.asarray(values))
            return f"{numbers[0]:g}" if len(numbers) == 1 else f"{numbers[0]:g}..{numbers[-1]:g}"

        return ", ".join(f"{name}={short(getattr(self, name))}" for name in ("C_b", "C_W", "lambda_b", "lambda_W"))


def as_layered(net: Any, argument: str = "net") -> LayeredNetwork:
    """`net`, refused unless it is an MLP or a residual one.

    Examples:
        >>> net = fw.ResidualMLP("relu", width=8, depth=4, gamma=0.7)
        >>> fw.networks.as_layered(net) is net
        True
    """
    if not isinstance(net, LayeredNetwork):
        raise ArgumentError(argument, type_of(net), LayeredNetwork.in_words)
    return net


def _is_indefinite(matrices: Float[np.ndarray, "*batch N N"], scale: float) -> bool:
    """Whether some eigenvalue is negative beyond the rounding of numbers of this `scale`."""
    return float(np.linalg.eigvalsh(matrices).min()) < -_ROUNDING * scale * matrices.shape[-1]
