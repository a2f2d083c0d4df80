"""The multilayer perceptron of PDLT chapter 2, described once and never changed."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import ArgumentError
from .._signature import type_of
from .._validation import as_widths, per_layer
from ..activations import Activation, as_activation
from .layer import Layer
from .layered import LayeredNetwork


class MLP(LayeredNetwork):
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
    def layers(self) -> Layer:
        r"""All layers, stacked: `net.layers[l - 1]` is layer $\ell$."""
        inverse_widths = np.asarray([0.0] + [1.0 / n for n in self.hidden_widths])
        return Layer(self.C_b, self.C_W, self.lambda_b, self.lambda_W, inverse_widths)

    @property
    def neurons_persist(self) -> bool:
        """Never: each layer's neurons are drawn anew, given the metric of the layer before."""
        return False

    def __repr__(self) -> str:
        return f"MLP({self.activation.name}, widths={self.widths}, {self.settings()})"


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
