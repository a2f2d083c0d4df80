r"""The neural tangent kernel of one realised network: forwards layer by layer, and backwards parameter by parameter."""

import operator
from collections.abc import Iterator
from functools import reduce
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import UnknownNameError
from .._memory import check_memory
from .._validation import as_inputs
from ..kernels.tangent_map import check_has_tangent_kernel
from ..networks import MLP, Layer
from .parameters import Parameters, as_parameters, preactivations

Layers = Literal["every", "last"]
_COPIES = 4  # of a layer's kernel while the next one is made


class Contributions(eqx.Module):
    r"""What every layer's parameters add to the tangent kernel of the output, layer $\ell$ at index $\ell-1$.

    Axes: (layer, sample of `x1`, sample of `x2`, output $i_1$, output $i_2$).
    """

    biases: Float[Array, "L N1 N2 n_L n_L"]
    weights: Float[Array, "L N1 N2 n_L n_L"]

    @property
    def total(self) -> Float[Array, "N1 N2 n_L n_L"]:
        """The tangent kernel of the output."""
        return (self.biases + self.weights).sum(axis=0)


@entry(remedy="lower C_W or the depth")
def ntk(
    net: MLP, params: Parameters, x1: Any, x2: Any = None, *, layers: Layers = "every"
) -> tuple[Float[Array, "N1 N2 _ _"], ...]:
    r"""The tangent kernel of one network in every layer, hidden ones too, by the forward equation PDLT (8.12).

    $$\widehat H^{(\ell)}_{i_1i_2;\alpha_1\alpha_2} = \sum_\mu\lambda_\mu
      \frac{dz^{(\ell)}_{i_1;\alpha_1}}{d\theta_\mu}\frac{dz^{(\ell)}_{i_2;\alpha_2}}{d\theta_\mu}
      \quad\text{PDLT (8.5)},$$

    with the rates of `net`: $\lambda_b^{(\ell)}$ for biases, $\lambda_W^{(\ell)}/n_{\ell-1}$ for weights, PDLT (8.6).

    **Arguments:**

    - `params`: the network's parameters, such as `draw_parameters` gives.
    - `x1`, `x2`: inputs, shapes (N1, n_0) and (N2, n_0); `x2` is `x1` unless given.
    - `layers`: `"every"`, whose hidden layers take $N_1N_2n_\ell^2$ numbers each, or `"last"`, by the backward equation PDLT (8.16)-(8.18)
      and with the kernel of the output alone: a tuple of one.

    **Returns:** for $\ell = 1..L$ an array of shape (N1, N2, $n_\ell$, $n_\ell$) with axes
    $(\alpha_1, \alpha_2, i_1, i_2)$. Note that $\widehat H_{i_1i_2;\alpha_1\alpha_2} = \widehat H_{i_2i_1;\alpha_2\alpha_1}$
    but not $\widehat H_{i_2i_1;\alpha_1\alpha_2}$.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> params = fw.draw_parameters(net, 0)
        >>> fw.ntk(net, params, [[1.0, 0.5], [0.3, -1.0]])[-1].shape
        (2, 2, 1, 1)
    """
    (first, second), params = _checked(net, params, x1, x2)
    if not isinstance(layers, str) or layers not in get_args(Layers):
        raise UnknownNameError("layers", layers, get_args(Layers))
    pairs, squares = len(first) * len(second), [n * n for n in net.widths[1:]]
    if layers == "last":
        what = f"{len(first)} and {len(second)} samples with {net.widths[-1]} outputs"
        check_memory(8.0 * _COPIES * pairs * squares[-1], "x1", what, "fewer samples or outputs")
        return (reduce(operator.add, (bias + weight for bias, weight in _backwards(net, params, first, second))),)
    what = f"{len(first)} and {len(second)} samples in layers up to {max(net.widths[1:])} wide"
    check_memory(8.0 * pairs * (sum(squares) + _COPIES * max(squares)), "x1", what, "fewer samples, or layers='last'")
    z1, z2 = (preactivations(net, params, x) for x in (first, second))
    slope = net.activation.derivative(1)
    H = own_ntk(net.layers[0], gram(first, second), net.widths[1])
    found = [H]
    for layer in range(1, net.depth):
        z = z1[layer - 1][:, None], z2[layer - 1][None]
        signals = (net.activation(z1[layer - 1]), net.activation(z2[layer - 1]))
        H = _step(dressed(H, slope(z[0]), slope(z[1])), params.weights[layer], gram(*signals), net.layers[layer])
        found.append(H)
    return tuple(found)


@entry(remedy="lower C_W or the depth")
def ntk_contributions(net: MLP, params: Parameters, x1: Any, x2: Any = None) -> Contributions:
    r"""What each layer's biases and weights add to the output's tangent kernel, by the backward equation.

    $$\frac{dz^{(L)}_i}{dz^{(\ell)}_j} = \sum_k\frac{dz^{(L)}_i}{dz^{(\ell+1)}_k}W^{(\ell+1)}_{kj}\sigma'^{(\ell)}_j
      \ \text{PDLT (8.17)-(8.18)},\qquad
      \frac{dz^{(L)}_i}{db^{(\ell)}_j} = \frac{dz^{(L)}_i}{dz^{(\ell)}_j},\quad
      \frac{dz^{(L)}_i}{dW^{(\ell)}_{jk}} = \frac{dz^{(L)}_i}{dz^{(\ell)}_j}\,\sigma^{(\ell-1)}_k\ \text{PDLT (8.16)}.$$

    Arguments as for `ntk`, whose last entry is the sum of all contributions.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> params = fw.draw_parameters(net, 0)
        >>> fw.realised.ntk_contributions(net, params, [[1.0, 0.5], [0.3, -1.0]]).weights.shape
        (3, 2, 2, 1, 1)
    """
    inputs, params = _checked(net, params, x1, x2)
    numbers = 2.0 * (net.depth + _COPIES) * len(inputs[0]) * len(inputs[1]) * net.widths[-1] ** 2
    what = (
        f"{len(inputs[0])} and {len(inputs[1])} samples with {net.widths[-1]} outputs, for each of {net.depth} layers"
    )
    check_memory(8.0 * numbers, "x1", what, "fewer samples or outputs")
    biases, weights = zip(*_backwards(net, params, *inputs), strict=True)
    return Contributions(jnp.stack(biases[::-1]), jnp.stack(weights[::-1]))


def _backwards(
    net: MLP, params: Parameters, first: Float[Array, "N1 n_0"], second: Float[Array, "N2 n_0"]
) -> Iterator[tuple[Float[Array, "N1 N2 n_L n_L"], Float[Array, "N1 N2 n_L n_L"]]]:
    """What the biases and the weights of each layer add to the kernel of the output, from the last layer to the first."""
    inputs, slope = (first, second), net.activation.derivative(1)
    z = [preactivations(net, params, x) for x in inputs]
    signals = [(x, *map(net.activation, of[:-1])) for x, of in zip(inputs, z, strict=True)]
    out = net.widths[-1]
    gradients = [jnp.broadcast_to(jnp.eye(out), (len(x), out, out)) for x in inputs]
    for layer in reversed(range(net.depth)):
        errors = jnp.einsum("aij,bkj->abik", *gradients)
        of_weights = net.lambda_W[layer] * gram(*(of[layer] for of in signals))[..., None, None] * errors
        yield net.lambda_b[layer] * errors, of_weights
        if layer:
            gradients = [
                gradient @ params.weights[layer] * slope(of[layer - 1])[:, None]
                for gradient, of in zip(gradients, z, strict=True)
            ]


def gram(first: Float[Array, "N1 n"], second: Float[Array, "N2 n"]) -> Float[Array, "N1 N2"]:
    r"""$\frac1n\sum_j\sigma_{j;\alpha_1}\sigma_{j;\alpha_2}$."""
    return first @ second.T / first.shape[1]


def own_ntk(layer: Layer, grams: Float[Array, "*pairs"], width: int) -> Float[Array, "*pairs n n"]:
    r"""$\delta_{i_1i_2}[\lambda_b + \lambda_W\frac1n\sum_j\sigma_{j;\alpha_1}\sigma_{j;\alpha_2}]$, what a layer's own parameters add;
    all there is in the first layer, PDLT (8.23)."""
    return layer.own_tangent_kernel(grams)[..., None, None] * jnp.eye(width)


def dressed(
    H: Float[Array, "*pairs n n"], slope1: Float[Array, "*#pairs n"], slope2: Float[Array, "*#pairs n"]
) -> Float[Array, "*pairs n n"]:
    r"""$\sigma'_{j_1;\alpha_1}\widehat H_{j_1j_2;\alpha_1\alpha_2}\sigma'_{j_2;\alpha_2}$: the kernel of the activations."""
    return slope1[..., :, None] * H * slope2[..., None, :]


def next_ntk(
    M: Float[Array, "*pairs n n"], W: Float[Array, "m n"], grams: Float[Array, "*pairs"], layer: Layer
) -> Float[Array, "*pairs m m"]:
    r"""The forward equation PDLT (8.12), from the `dressed` kernel of the layer before."""
    return own_ntk(layer, grams, len(W)) + W @ (M @ W.T)


_step = jax.jit(next_ntk)


def _checked(net: MLP, params: Parameters, x1: Any, x2: Any) -> tuple[tuple[Array, Array], Parameters]:
    params = as_parameters(net, params)
    check_has_tangent_kernel(net.activation)
    first = as_inputs(x1, "x1", net.widths[0])
    return (first, first if x2 is None else as_inputs(x2, "x2", net.widths[0])), params
