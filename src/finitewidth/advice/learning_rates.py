"""The learning rate of every group of parameters in an ordinary optimiser."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError, ShapeError, UnknownNameError
from .._result import Result
from .._validation import as_inputs, as_number
from ..activations import Activation
from ..expansion.tangent_layers import tangent_contributions
from ..gaussian.line import line_average
from ..kernels.tangent_map import check_has_tangent_kernel
from ..networks import MLP, LayeredNetwork, ResidualMLP, as_layered, as_mlp
from ..networks.residual import refuse_norm
from ..realised.parameters import Parameters
from .gradient_sizes import evenness

_MEANING = {
    "sgd": """\
Rates for torch.optim.SGD or optax.sgd, one group a row, at a global rate eta = {eta:g}
(for a loss that is a mean over the batch `advice.global_rate` says which).""",
    "adam": """\
Rates for torch.optim.Adam or optax.adam, one group a row: with all of them the first
step moves an output by about {moved:.3g}, eta = {eta:g} times its tangent kernel. Steps
of Adam do not shrink with the error: lower eta as it falls.
The rule is that of the NTK (s = 0), all layers alike, where rates of hidden weights
fall with the width as n^(-3/2). Under the maximal-update rule (s = 1) they fall as
1/n, with a last layer that starts smaller by n^(-1/2).""",
}


@dataclass(frozen=True, repr=False)
class LearningRates(Result):
    """Rates of biases and weights of each layer, layer 1 first. `str()` of it is a table."""

    axes = ("layer",)

    optimizer: str
    rate: float
    bias: Float[np.ndarray, " L"]
    weight: Float[np.ndarray, " L"]
    tangent_kernel: float | None = None
    r"""For Adam, $\Theta^{(L)}$ of the inputs its rates are for: the first step moves an output by `rate` times this."""
    widths: tuple[int, ...] = ()
    """Of the network that the rates are for, inputs first."""

    def rows(self) -> list[tuple[int, float, float]]:
        """(layer, rate of its biases, rate of its weights), layer by layer."""
        return [(i + 1, float(b), float(w)) for i, (b, w) in enumerate(zip(self.bias, self.weight, strict=True))]

    def as_dict(self) -> dict[str, float]:
        """`{"layer_1.bias": ..., "layer_1.weight": ..., ...}`: labels and rates, as `optax.multi_transform` wants them."""
        return {f"layer_{i}.{name}": rate for i, b, w in self.rows() for name, rate in (("bias", b), ("weight", w))}

    def tree(self) -> Parameters:
        """The rates in the form of the parameters of a network, to multiply its gradients by: one number a group, which
        broadcasts to the group's shape."""
        return Parameters(tuple(self.weight.reshape(-1, 1, 1)), tuple(self.bias.reshape(-1, 1)))

    def parameter_groups(self, layers: Sequence[Any]) -> list[dict[str, Any]]:
        """Groups for a PyTorch optimiser, from its linear layers in order: anything with a `weight`, (neurons, inputs), and a `bias`.

        Shapes are compared with the network's, so that layers in another order are refused where they differ in shape.
        """
        if len(layers) != len(self.bias):
            raise ShapeError("layers", f"{len(layers)} of them", f"{len(self.bias)}, the network's depth")
        for number, (layer, expected) in enumerate(zip(layers, pairwise(self.widths), strict=False), 1):
            shape = tuple(getattr(layer.weight, "shape", expected[::-1]))
            if shape != expected[::-1]:
                want = f"{expected[::-1]}, (neurons, inputs): linear layers in the order of the network's"
                raise ShapeError("layers", f"weights of shape {shape} in layer {number}", want)
        groups = []
        for layer, (_, bias, weight) in zip(layers, self.rows(), strict=True):
            groups.append({"params": [layer.weight], "lr": weight})
            if layer.bias is not None:
                groups.append({"params": [layer.bias], "lr": bias})
        return groups

    def __str__(self) -> str:
        moved = self.rate * (self.tangent_kernel or 0.0)
        lines = [
            *_MEANING[self.optimizer].format(eta=self.rate, moved=moved).splitlines(),
            f"{'layer':>5}  {'biases':>10}  {'weights':>10}",
        ]
        return "\n".join(lines + [f"{layer:>5}  {bias:>10.4g}  {weight:>10.4g}" for layer, bias, weight in self.rows()])


@entry()
def learning_rates(net: LayeredNetwork, optimizer: str = "sgd", rate: float = 1.0, x: Any = None) -> LearningRates:
    r"""What each group's rate must be in an ordinary optimiser for the network to learn with the relative rates
    `lambda_b`, `lambda_W` of `net`, which `tune` sets.

    **SGD**, for weights of variance $C_W/n_{\ell-1}$: $\eta\lambda_b^{(\ell)}$ for biases and $\eta\lambda_W^{(\ell)}/n_{\ell-1}$ for
    weights, PDLT (8.6). What $\eta$ is good for depends on the loss: `advice.global_rate` gives it for a mean over the batch, the book's
    $\eta$ is that of a sum over samples.

    **Adam** moves every parameter by its rate in the direction of its sign, however small the gradient. For one sample with
    errors $\epsilon_i$ of the $n_L$ outputs the gradients of the biases of layer $\ell$ are $e_j = \sum_i\epsilon_iJ_{ij}$ with
    $J_{ij} = dz^{(L)}_i/dz^{(\ell)}_j$, and of its weights $e_j\sigma_k$. In a hidden layer $J_{ij}$ is $\sigma'_j$ times a Gaussian,
    of mean square $\chi/n_\ell$ with the chain-rule factor $\chi = \prod_{\ell'\ge\ell}\chi_\perp^{(\ell')}$, PDLT (9.93). To first
    order, steps of sizes $\beta$ and $\omega$ change the outputs by

    $$-\beta\sum_jJ_{ij}\,\mathrm{sign}(e_j) = -\beta\,S\,\frac{\epsilon_i}{|\epsilon|},\qquad
      -\omega\sum_{jk}J_{ij}\,\mathrm{sign}(e_j)|\sigma_k| =
      -\omega\,n_{\ell-1}\langle|\sigma|\rangle\,S\,\frac{\epsilon_i}{|\epsilon|},\qquad
      S = \frac{\langle|\sigma'|\rangle}{\langle\sigma'^2\rangle^{1/2}}\sqrt{\tfrac2\pi\chi n_\ell},$$

    where gradient descent changes them by $-\eta\lambda_b\chi\,\epsilon_i$ and $-\eta\lambda_Wg\,\chi\,\epsilon_i$, PDLT (8.13). They agree
    for errors of unit size, $|\epsilon|^2 = n_L$, with

    $$\beta = \eta\lambda_b\frac{\chi\sqrt{n_L}}S,\qquad
      \omega = \frac{\eta\lambda_W}{n_{\ell-1}}\frac{g}{\langle|\sigma|\rangle}\frac{\chi\sqrt{n_L}}S;$$

    in the last layer $\chi = 1$ and $S = \sum_i|\epsilon_i|/|\epsilon|$, on average over the directions of $\epsilon$

    $$S = \frac{n_L\,\Gamma(\frac{n_L}2)}{\sqrt\pi\,\Gamma(\frac{n_L+1}2)},$$

    one for a single output and close to $\sqrt{2n_L/\pi}$ for many. It would be $\sqrt{n_L}$ for errors all of one size.

    The factor $1/n_{\ell-1}$, fan-in, is that of the maximal-update parameterisation. The $1/\sqrt{n_\ell}$ comes with it because here
    the output sees each hidden neuron with a strength $n_\ell^{-1/2}$ and signs add up to $\sqrt{n_\ell}$; there it is $n_\ell^{-1}$ and
    they add up to one. Signs forget the size of the error: $\eta$ is the change of the output that one step makes, per unit of
    $\Theta^{(L)}$, and has to be lowered as the error falls.

    **Arguments:**

    - `net`: an MLP or a `ResidualMLP`. With skips $\chi_\perp$ is that of PDLT (B.16), and in $S$ the slopes of all later layers of a
      neuron's path take the place of $\langle|\sigma'|\rangle/\langle\sigma'^2\rangle^{1/2}$ (an average over paths drawn, good to half a
      per cent); for Adam it must have a readout, `outputs=`, and no norm.
    - `optimizer`: `"sgd"` or `"adam"`.
    - `rate`: the global rate $\eta > 0$.
    - `x`: for Adam, typical inputs (N, n_0), on which $\chi$, $g$ and $\langle|\sigma|\rangle$ depend; entries of size one unless given.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.learning_rates(net, "sgd", rate=0.1).as_dict()["layer_2.weight"]
        0.0125
    """
    check_has_tangent_kernel(as_layered(net).activation)
    known = {"sgd": _gradient_descent, "adam": _signs}
    if not isinstance(optimizer, str) or optimizer not in known:
        raise UnknownNameError("optimizer", optimizer, known)
    eta = as_number(rate, "rate")
    if eta <= 0:
        raise DomainError("rate", f"{eta:g}", "a positive global rate")
    net = net if x is None else net.reading(x)
    inputs = as_inputs(np.ones((1, net.widths[0])) if x is None else x, "x", net.widths[0])
    bias_factor, weight_factor, tangent_kernel = known[optimizer](net, np.asarray(inputs))
    bias, weight = eta * np.asarray(net.lambda_b) * bias_factor, eta * np.asarray(net.lambda_W) * weight_factor
    return LearningRates(optimizer, eta, bias, weight, tangent_kernel, tuple(map(int, net.widths)))


@entry()
def standard_rates(net: MLP) -> MLP:
    r"""The same network under plain gradient descent, one rate for all parameters: $\lambda_b = 1$ and $\lambda_W^{(\ell)} = n_{\ell-1}$,
    PDLT (8.6). Its tangent kernel grows with the width, and the share of biases in it falls as $1/n$.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.advice.standard_rates(net).lambda_W.tolist()
        [2.0, 8.0, 8.0]
    """
    return as_mlp(net).replace(lambda_b=1.0, lambda_W=np.asarray(net.widths[:-1], dtype=float))


@entry()
def with_slow_biases(net: LayeredNetwork) -> LayeredNetwork:
    r"""The same network with its $\lambda_b$ divided by the width before them: then one rate per layer serves biases and weights in an
    ordinary optimiser. It departs from the equal shares of PDLT (9.94), which spend half of the largest stable rate on moving all outputs
    together; `recommend` and reports advise it.

    Examples:
        >>> net = fw.advice.with_slow_biases(fw.tune(fw.MLP("relu", (2, 8, 8, 1))))
        >>> fw.learning_rates(net, "sgd", rate=0.3).bias.round(4).tolist()
        [0.05, 0.0125, 0.0125]
    """
    return as_layered(net).replace(lambda_b=np.asarray(net.lambda_b) / np.asarray(net.widths[:-1], dtype=float))


def _gradient_descent(net: LayeredNetwork, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, None]:
    r"""1 and $1/n_{\ell-1}$, PDLT (8.6)."""
    return np.ones(net.depth), 1 / np.asarray(net.widths[:-1], dtype=float), None


def _signs(net: LayeredNetwork, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """What `learning_rates` derives for updates by sign, and the tangent kernel of the output."""
    if isinstance(net, ResidualMLP):
        refuse_norm(net, "optimizer", "'adam'", "'sgd', or norm=None")
        if net.outputs is None:
            raise DomainError(
                "net", "a residual network whose last layer is skipped", "one with a readout, outputs=..."
            )
    split = tangent_contributions(net, x)
    chain, overlap, K = (np.asarray(part).diagonal(axis1=1, axis2=2) for part in (split.chain, split.overlap, split.K))
    value, slope = _absolute_averages(net.activation, jnp.asarray(K[:-1]))
    sizes = np.append(np.abs(x).mean(axis=1)[None], value, axis=0).mean(axis=1)
    spread = evenness(net, K.mean(axis=1), chain.mean(axis=1)) if isinstance(net, ResidualMLP) else slope.mean(axis=1)
    signs = spread * np.sqrt(2 / math.pi * chain[:-1].mean(axis=1) * np.asarray(net.hidden_widths))
    outputs = net.widths[-1]
    bias = chain.mean(axis=1) * math.sqrt(outputs) / np.append(signs, _sum_of_sizes(outputs))
    theta = sum(np.asarray(part).diagonal(axis1=1, axis2=2).mean(axis=1).sum() for part in (split.bias, split.weight))
    return bias, bias / np.asarray(net.widths[:-1]) * overlap.mean(axis=1) / sizes, float(theta)


def _sum_of_sizes(n: int) -> float:
    r"""$\langle\sum_i|\epsilon_i|\rangle$ of vectors $\epsilon$ of length one and of any direction, with $n$ entries."""
    return n / math.sqrt(math.pi) * math.exp(math.lgamma(n / 2) - math.lgamma((n + 1) / 2))


def _absolute_averages(activation: Activation, K: Float[Array, "l N"]) -> tuple[np.ndarray, np.ndarray]:
    r"""$\langle|\sigma|\rangle_K$ and $\langle|\sigma'|\rangle_K/\langle\sigma'^2\rangle_K^{1/2}$."""
    if not K.size:  # one layer: nothing is hidden
        return np.zeros(K.shape), np.zeros(K.shape)
    kinks = tuple({0.0, *activation.kinks})
    slope = activation.derivative(1)
    value, size = (line_average(lambda z, f=f: jnp.abs(f(z)), K, kinks) for f in (activation, slope))
    return np.asarray(value), np.asarray(size / jnp.sqrt(line_average(lambda z: slope(z) ** 2, K, kinks)))
