"""The tangent kernel of one input and its fluctuations, layer by layer, to a hundred thousand layers."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ..._entry import entry
from ..._errors import DomainError, ShapeError
from ..._ratio import ratio_or_zero
from ..._result import Result
from ..._validation import as_count, as_floats, is_concrete
from ...activations import Activation, as_activation
from ...kernels.every_layer import every_layer
from ...networks import Layer
from .equal_layers import as_one_input
from .tangent_averages import Numbers, TangentAverages, tangent_averages
from .trust import check_continuous, check_layers


class _Ratios(NamedTuple):
    V: Numbers
    D: Numbers
    F: Numbers
    B: Numbers
    A: Numbers


class Ratios(Result, _Ratios):
    r"""The dimensionless couplings, without their common $1/n$: $V/K^2$, PDLT (9.25), $D/(K\Theta)$ and $F/(K\Theta)$,
    PDLT (9.24), $A/\Theta^2$ and $B/\Theta^2$, PDLT (9.23). At criticality each grows in proportion to depth, PDLT (9.26)-(9.27)."""


class TangentSingleInputFlow(Result, eqx.Module):
    r"""Layer $\ell$ at index $\ell-1$, for hidden layers of equal width; tensors of the book with all samples equal."""

    axes = ("layer",)

    K: Float[Array, " L"]
    Theta: Float[Array, " L"]
    V: Float[Array, " L"]
    D: Float[Array, " L"]
    F: Float[Array, " L"]
    B: Float[Array, " L"]
    A: Float[Array, " L"]

    @property
    def ratios(self) -> Ratios:
        """The dimensionless couplings of every layer, to be divided by the width; zero where the tangent kernel is."""
        K, theta = self.K, self.Theta
        mixed, tangent = (partial(ratio_or_zero, denominator=scale) for scale in (K * theta, theta**2))
        return Ratios(self.V / K**2, mixed(self.D), mixed(self.F), tangent(self.B), tangent(self.A))


class TangentState(NamedTuple):
    """What one layer hands to the next."""

    K: Array
    Theta: Array
    V: Array
    D: Array
    F: Array
    B: Array
    A: Array


class _TangentSource(NamedTuple):
    g: Array
    chi_parallel: Array
    chi_perp: Array
    h: Array
    v: Array
    r"""$C_W^2[\langle\sigma^4\rangle - g^2]$."""
    mixed: Array
    r"""$C_W^2\langle\sigma^2\sigma'^2\rangle$."""
    slopes: Array
    r"""$C_W^2\langle\sigma'^4\rangle$."""
    mixed_covariance: Array
    r"""$C_W^2\langle\sigma^2\sigma'^2\rangle - C_Wg\chi_\perp$."""
    slope_variance: Array
    r"""$C_W^2\langle\sigma'^4\rangle - \chi_\perp^2$."""


class TangentSource(Result, _TangentSource):
    r"""What one layer does at kernel $K$: its responses and what its neurons add, times their powers of $C_W$."""


@entry()
def tangent_source(at: TangentAverages, C_W: Any) -> TangentSource:
    r"""The helper functions PDLT (9.8)-(9.11), $h = \tfrac12\chi_\perp'(K)$, and the sources of PDLT (9.13)-(9.16).

    Examples:
        >>> at = fw.critical.tangent_averages(fw.ACTIVATIONS["relu"], 1.0)
        >>> round(float(fw.critical.tangent_source(at, 2.0).chi_perp), 6)
        1.0
    """
    C_W = as_floats(C_W, "C_W")
    if is_concrete(C_W) and bool((np.asarray(C_W) < 0).any()):
        raise DomainError("C_W", f"{np.asarray(C_W).min():g}", "values >= 0")
    single, *four = at
    responses = single.g, C_W * single.dg, C_W * single.s, C_W * single.ds / 2
    return TangentSource(*responses, *(C_W**2 * source for source in (single.v, *four)))


def next_layer(state: TangentState, at: TangentSource, layer: Layer) -> TangentState:
    r"""One layer, PDLT (9.6), (9.14)-(9.15), (9.19)-(9.21): with $k = \lambda_W/C_W$ and the new layer's $V'$, $D'$,

    $$\Theta' = \lambda_b + \lambda_Wg + \chi_\perp\Theta,\quad V' = \chi_\parallel^2V + C_W^2[\langle\sigma^4\rangle-g^2],\quad
      F' = \chi_\parallel^2F + C_W^2\langle\sigma^2\sigma'^2\rangle\Theta,\quad B' = \chi_\perp^2B + C_W^2\langle\sigma'^4\rangle\Theta^2,$$

    $$D' = \chi_\perp\chi_\parallel D + kV' + \Theta[C_W^2\langle\sigma^2\sigma'^2\rangle - C_Wg\chi_\perp + 2h\chi_\parallel V],$$

    $$A' = \chi_\perp^2A - k^2V' + 2kD' + 4h\chi_\perp\Theta D + \Theta^2[C_W^2\langle\sigma'^4\rangle - \chi_\perp^2 + 4h^2V].$$
    """
    _, theta, V, D, F, B, A = state
    _, parallel, perp, h, *_ = at
    k = layer.lambda_W / layer.C_W
    new_V = parallel**2 * V + at.v
    new_D = perp * parallel * D + k * new_V + theta * (at.mixed_covariance + 2 * h * parallel * V)
    from_slopes = 4 * h * perp * theta * D + theta**2 * (at.slope_variance + 4 * h**2 * V)
    return TangentState(
        K=layer.kernel(at.g),
        Theta=layer.own_tangent_kernel(at.g) + perp * theta,
        V=new_V,
        D=new_D,
        F=parallel**2 * F + at.mixed * theta,
        B=perp**2 * B + at.slopes * theta**2,
        A=perp**2 * A - k**2 * new_V + 2 * k * new_D + from_slopes,
    )


def first_layer(K1: Float[Array, ""], layer: Layer) -> TangentState:
    r"""$\Theta^{(1)} = \lambda_b^{(1)} + \lambda_W^{(1)}(K^{(1)}-C_b)/C_W$, PDLT (9.7), and nothing fluctuates, PDLT (9.17)."""
    zero = jnp.zeros_like(K1)
    overlap = (K1 - layer.C_b) / layer.C_W
    return TangentState(K1, layer.own_tangent_kernel(overlap), zero, zero, zero, zero, zero)


@compiled_in_haste(light=5000, static_argnums=0)
def tangent_flow_of_one_input(
    activation: Activation,
    K1: Float[Array, ""],
    layers: Layer,
) -> TangentSingleInputFlow:
    """Every layer from the first."""

    def step(state: TangentState, layer: Layer) -> TangentState:
        return next_layer(state, tangent_source(tangent_averages(activation, state.K), layer.C_W), layer)

    return TangentSingleInputFlow(*every_layer(step, first_layer(K1, layers[0]), layers[1:]))


@entry()
def tangent_single_input_flow(
    activation: str | Activation | Callable[[Array], Array],
    K1: float,
    depth: int,
    C_b: float,
    C_W: float,
    lambda_b: Float[Array, " L"] | float | Any = 1.0,
    lambda_W: Float[Array, " L"] | float | Any = 1.0,
) -> TangentSingleInputFlow:
    r"""$\Theta$, $V$, $D$, $F$, $B$ and $A$ of one input at every layer, PDLT (9.6)-(9.21).

    A scan over depth at the cost of a few averages a layer, for hidden layers of equal width and one pair of
    $C_b, C_W$; `flow(net, x, through="ntk")` does many inputs, unequal widths and layers that differ.

    **Arguments:**

    - `activation`: a name, an `Activation`, or any elementwise JAX callable; continuous.
    - `K1`: the kernel of the first layer, $C_b + C_W|x|^2/n_0$.
    - `depth`: the number of layers $L$.
    - `C_b`, `C_W`: the hyperparameters of every layer.
    - `lambda_b`, `lambda_W`: learning rates, scalars or one per layer.

    Examples:
        >>> fw.critical.tangent_single_input_flow("relu", 1.0, depth=3, C_b=0.0, C_W=2.0).Theta.tolist()
        [1.5, 3.0, 4.5]
    """
    sigma = as_activation(activation)
    check_continuous(sigma)
    flow = tangent_flow_of_one_input(sigma, *as_one_input(K1, depth, C_b, C_W, lambda_b, lambda_W))
    if is_concrete(flow.K):
        check_layers(sigma, flow.K, jax.tree.leaves(flow), "K1, C_b, C_W")
    return flow


@entry()
def effective_exponents(values: Any, first_layer: int = 1) -> Float[np.ndarray, " steps"]:
    r"""$p_{\rm eff} = -\frac{d\log|\mathcal O|}{d\log\ell}$ between neighbouring layers: tends to the exponent of the scaling ansatz
    $\mathcal O^{(\ell)} \sim \ell^{-p}$, PDLT (9.22).

    Examples:
        >>> fw.critical.effective_exponents(1 / np.arange(1.0, 6.0)).round(6).tolist()
        [1.0, 1.0, 1.0, 1.0]
    """
    magnitude = np.abs(np.asarray(as_floats(values, "values")))
    if magnitude.ndim != 1 or len(magnitude) < 2:
        raise ShapeError("values", f"shape {magnitude.shape}", "one value for each of two or more layers")
    first = as_count(first_layer, "first_layer")
    layers = np.arange(first, first + len(magnitude))
    if not (magnitude > 0).all():
        raise DomainError("values", "a zero", "values that do not vanish: leave out the layers that do not fluctuate")
    return -np.diff(np.log(magnitude)) / np.diff(np.log(layers))
