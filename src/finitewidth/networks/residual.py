"""The residual network of PDLT appendix B, described once and never changed."""

from collections.abc import Callable
from typing import Any, get_args

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError, ShapeError, UnknownNameError
from .._memory import check_layers
from .._validation import as_count, as_floats, as_inputs, is_concrete, per_layer
from ..activations import Activation, as_activation
from .layer import Norm, ResidualLayer
from .layered import LayeredNetwork


class ResidualMLP(LayeredNetwork):
    r"""A fully connected network whose layers of equal width add to what they receive.

    $$z^{(1)}_i = b^{(1)}_i + \sum_jW^{(1)}_{ij}x_j,\qquad
      z^{(\ell+1)}_i = b^{(\ell+1)}_i + \sum_jW^{(\ell+1)}_{ij}\sigma(z^{(\ell)}_j) + \gamma z^{(\ell)}_i
      \quad\text{PDLT (B.3), (B.6)}$$

    with $E[b_i^2] = C_b^{(\ell)}$ and $E[W_{ij}^2] = C_W^{(\ell)}/n_{\ell-1}$, PDLT (2.19)-(2.20). The book's $\xi$ is part of these:
    it multiplies $C_b$ and $C_W$ by $\xi^2$.

    **Arguments:**

    - `activation`: a name (`finitewidth activations` lists them), an `Activation`, or any elementwise JAX callable.
    - `width`: $n$, that of all layers 1 to L, or to L - 1 where there is a readout.
    - `depth`: $L$, the number of layers, counted as those of an `MLP`: the first, which has no way around it, and the last are among
      them.
    - `gamma`: $\gamma$, the strength of the skip connections, of any sign; 0 is an `MLP`. At $\gamma^2 = 1$ nothing is critical but
      networks without weights.
    - `C_b`, `C_W`: variances of biases and of rescaled weights; scalars, or one value per layer. `tune` sets them.
    - `lambda_b`, `lambda_W`: relative learning rates, as those of an `MLP`.
    - `inputs`: $n_0$, the number of features; by default as many as the inputs have that it is asked about, and in `widths`, where none
      are, as many as the width.
    - `outputs`: a number asks for a readout: then layer L is $z^{(L)} = b + W\sigma(z^{(L-1)})$ with so many neurons and without a
      way around it. By default there is none, and layer L is one like those before it, of width $n$.
    - `norm`: what stands before every activation, $\sigma(N(z))$, while the skip passes $z$ on as it is: `"rms"` divides by the root of
      the mean square over neurons (RMSNorm), `"layer"` takes off their mean first (LayerNorm); without learned gains. `None` is
      nothing. An MLP with normalised layers is one with $\gamma = 0$. Known to `kernel`, `frozen_ntk`, `flow(..., through="kernel")` and
      `simulate`.

    Examples:
        >>> fw.ResidualMLP("relu", width=256, depth=64, gamma=0.7, inputs=8, outputs=1).widths[-3:]
        (256, 256, 1)
    """

    activation: Activation = eqx.field(static=True)
    width: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)
    gamma: Float[Array, ""]
    C_b: Float[Array, " L"]
    C_W: Float[Array, " L"]
    lambda_b: Float[Array, " L"]
    lambda_W: Float[Array, " L"]
    inputs: int | None = eqx.field(static=True)
    outputs: int | None = eqx.field(static=True)
    norm: Norm | None = eqx.field(static=True)

    @entry()
    def __init__(
        self,
        activation: str | Activation | Callable[[Array], Array],
        width: int,
        depth: int,
        gamma: Any,
        C_b: Any = 0.0,
        C_W: Any = 1.0,
        lambda_b: Any = 1.0,
        lambda_W: Any = 1.0,
        inputs: int | None = None,
        outputs: int | None = None,
        norm: Norm | None = None,
    ):
        self.activation = as_activation(activation)
        self.width = as_count(width, "width")
        self.depth = as_count(depth, "depth")
        check_layers(self.depth)
        self.gamma = _one_number(gamma, "gamma")
        self.C_b = per_layer(C_b, "C_b", self.depth)
        self.C_W = per_layer(C_W, "C_W", self.depth)
        self.lambda_b = per_layer(lambda_b, "lambda_b", self.depth)
        self.lambda_W = per_layer(lambda_W, "lambda_W", self.depth)
        self.inputs = None if inputs is None else as_count(inputs, "inputs")
        self.outputs = None if outputs is None else as_count(outputs, "outputs")
        if norm is not None and (not isinstance(norm, str) or norm not in get_args(Norm)):
            raise UnknownNameError("norm", norm, get_args(Norm))
        self.norm = norm

    @property
    def widths(self) -> tuple[int, ...]:
        r"""$n_0, \dots, n_L$: the inputs, the hidden widths, the outputs."""
        first = self.width if self.inputs is None else self.inputs
        last = self.width if self.outputs is None else self.outputs
        return (first, *[self.width] * (self.depth - 1), last)

    def reading(self, x: Any) -> "ResidualMLP":
        """The network for inputs such as `x`: where the number of features was left open, it is theirs."""
        return self if self.inputs is not None else self.replace(inputs=as_inputs(x, "x").shape[1])

    @property
    def layers(self) -> ResidualLayer:
        r"""All layers, stacked: `net.layers[l - 1]` is layer $\ell$."""
        inverse_widths = np.asarray([0.0] + [1.0 / n for n in self.hidden_widths])
        around = self.has_skip.astype(float)
        skip = self.gamma * (around if is_concrete(self.gamma) else jnp.asarray(around))
        return ResidualLayer(self.C_b, self.C_W, self.lambda_b, self.lambda_W, inverse_widths, skip, self.norm)

    @property
    def has_skip(self) -> np.ndarray:
        """Which layers have a way around them: all but the first, and but the last where that is a readout."""
        around = np.arange(self.depth) > 0
        around[-1] &= self.outputs is None
        return around

    @property
    def settings_of_kernels(self) -> tuple[Array, ...]:
        """All numbers that decide the law of its outputs; rates of learning do not."""
        return self.C_b, self.C_W, self.gamma

    @property
    def neurons_persist(self) -> bool:
        """Always: a neuron is the one before it, times gamma, and something new."""
        return True

    def __repr__(self) -> str:
        gamma = f"{float(self.gamma):g}" if is_concrete(self.gamma) else "traced"
        given = (("inputs", self.inputs), ("outputs", self.outputs), ("norm", self.norm))
        ends = "".join(f", {name}={value}" for name, value in given if value)
        shape = f"width={self.width}, depth={self.depth}, gamma={gamma}"
        return f"ResidualMLP({self.activation.name}, {shape}, {self.settings()}{ends})"


def _one_number(value: Any, argument: str) -> Float[Array, ""]:
    number = as_floats(value, argument)
    if number.ndim:
        raise ShapeError(argument, f"shape {number.shape}", "one real number")
    return number


def refuse_norm(net: LayeredNetwork, argument: str, got: str, want: str) -> None:
    """`DomainError` for what is not known of networks with normalised layers."""
    if isinstance(net, ResidualMLP) and net.norm is not None:
        raise DomainError(argument, f"{got} for a network with norm={net.norm!r}", want)
