r"""Kernel and tangent kernel of two nearby inputs through the layers, to second order in their difference.

Like the kernel, $\Theta_{\pm\pm} = \Theta_{[0]} \pm \Theta_{[1]} + \Theta_{[2]}$ and $\Theta_{\pm\mp} = \Theta_{[0]}-\Theta_{[2]}$,
PDLT (10.58)-(10.61); the components are evolved as such.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ..._entry import entry
from ..._errors import DomainError, ShapeError
from ..._result import Result
from ..._validation import as_floats
from ...activations import Activation
from ...gaussian.line import line_rule
from ...kernels.every_layer import every_layer
from ...networks import MLP, Layer, as_mlp
from ..one_input.averages import SingleInput, from_means, single_input, with_kinks
from ..one_input.one_sided import one_sided
from ..one_input.trust import check_layers
from .perturbed_pair import PerturbedPair, check_no_corner, next_pair, shifts

_AGREEMENT = 1e-8  # of two ways to the same average


class TangentPair(Result, eqx.Module):
    r"""Layer $\ell$ at index $\ell-1$: the kernel, and to second order in $\delta x$: $\Theta_{[0]} =$ `Theta_00` + `deltadelta_Theta_0`,
    $\Theta_{[1]} =$ `delta_Theta_1`, $\Theta_{[2]} =$ `deltadelta_Theta_2`."""

    axes = ("layer",)

    kernel: PerturbedPair
    Theta_00: Float[Array, "*L"]
    delta_Theta_1: Float[Array, "*L"]
    deltadelta_Theta_2: Float[Array, "*L"]
    deltadelta_Theta_0: Float[Array, "*L"]

    @property
    @entry()
    def robustness(self) -> Float[Array, "*L"]:
        r"""$\frac{\Theta_{-+}}{\Theta_{++}}-1$, by how much less a test input $x_-$ learns than the training input $x_+$, PDLT (10.62),
        (10.64):

        $$-\tfrac{\delta\Theta_{[1]}}{\Theta_{00}} - \tfrac{2\delta\delta\Theta_{[2]}}{\Theta_{00}} +
          \big(\tfrac{\delta\Theta_{[1]}}{\Theta_{00}}\big)^2.$$
        """
        slope = self.delta_Theta_1 / self.Theta_00
        return -slope - 2 * self.deltadelta_Theta_2 / self.Theta_00 + slope**2

    @property
    @entry()
    def variance(self) -> Float[Array, "*L"]:
        r"""Of the trained output on $x_-$ over initialisations, PDLT (10.63), (10.65):

        $$4\,\delta\delta K_{[2]} - 2\,\delta K_{[1]}\tfrac{\delta\Theta_{[1]}}{\Theta_{00}} +
          K_{00}\big(\tfrac{\delta\Theta_{[1]}}{\Theta_{00}}\big)^2.$$
        """
        slope, pair = self.delta_Theta_1 / self.Theta_00, self.kernel
        return 4 * pair.deltadelta_K_2 - 2 * pair.delta_K_1 * slope + pair.K_00 * slope**2


@entry()
def tangent_pair_flow(net: MLP, x_0: Any, delta_x: Any) -> TangentPair:
    r"""Kernel and tangent kernel of $x_\pm = x_0 \pm \frac12\delta x$ in every layer, to second order in $\delta x$, PDLT (10.66)-(10.70).

    With the components $F_{[q]}[f]$ of $\langle f(z_\pm)f(z_\pm)\rangle$ for $f = \sigma$ and $f = \sigma'$,

    $$\delta\Theta_{[1]}' = \lambda_WF_{[1]}[\sigma] + \chi_\perp\delta\Theta_{[1]} + C_WF_{[1]}[\sigma']\Theta_{00},$$

    $$\delta\delta\Theta_{[q]}' = \lambda_WF_{[q]}[\sigma] + \chi_\perp\delta\delta\Theta_{[q]} + C_WF_{[q]}[\sigma']\Theta_{00} +
      \tfrac12C_WF_{[1]}[\sigma']\,\delta\Theta_{[1]},\qquad q = 0, 2.$$

    For activations without corners: for ReLU and its relatives use `tangent_angle_flow`.

    **Arguments:**

    - `net`: the network, with its rates.
    - `x_0`, `delta_x`: the midpoint and the difference of the inputs, vectors of length n_0.

    Examples:
        >>> net = fw.MLP("tanh", (2, 8, 8, 1))
        >>> pair = fw.critical.tangent_pair_flow(net, [1.0, 0.5], [0.1, 0.0])
        >>> pair.kernel.K_00.round(6).tolist()
        [0.625, 0.310917, 0.202149]
    """
    check_no_corner(as_mlp(net).activation)
    middle, difference = as_floats(x_0, "x_0"), as_floats(delta_x, "delta_x")
    if middle.shape != (net.widths[0],) or difference.shape != middle.shape:
        got = f"shapes {middle.shape} and {difference.shape}"
        raise ShapeError("x_0, delta_x", got, f"two vectors of length {net.widths[0]}")
    overlaps = (middle @ middle, middle @ difference, difference @ difference / 4)
    mean, tilt, spread = (jnp.asarray(each / net.widths[0], float) for each in overlaps)
    layers, zero = net.layers, jnp.zeros(())
    C_W, lambda_W = layers.C_W[0], layers.lambda_W[0]
    kernel = PerturbedPair(layers[0].kernel(mean), C_W * tilt, C_W * spread, zero)
    first = TangentPair(kernel, layers[0].own_tangent_kernel(mean), lambda_W * tilt, lambda_W * spread, zero)
    if not float(kernel.K_00) > 0:
        raise DomainError("x_0", "zero with C_b = 0", "a midpoint whose first kernel is positive")
    flow, gap = _flow(net.activation, first, layers[1:])
    check_layers(net.activation, flow.kernel.K_00, jax.tree.leaves(flow), "x_0, C_b, C_W")
    if not float(np.max(gap, initial=0.0)) < _AGREEMENT:
        got = f"{net.activation.name!r}, whose slope cannot be averaged at kernels of this size"
        raise DomainError("activation", got, "one that does not oscillate as fast, or smaller inputs")
    return flow


@compiled_in_haste(light=5000, static_argnums=0)
def _flow(activation: Activation, first: TangentPair, layers: Layer) -> tuple[TangentPair, Float[Array, " L"]]:
    def step(state: tuple[TangentPair, Array], layer: Layer) -> tuple[TangentPair, Array]:
        before, pair = state[0], state[0].kernel
        at, of_slope = single_input(activation, pair.K_00), slope_averages(activation, pair.K_00)
        values, slopes = shifts(at, pair), shifts(of_slope, pair)

        def second(component: int, theta: Array) -> Array:
            bent = slopes[component] * before.Theta_00 + slopes[1] * before.delta_Theta_1 / 2
            return layer.lambda_W * values[component] + layer.C_W * (at.s * theta + bent)

        after = TangentPair(
            next_pair(at, pair, layer),
            layer.tangent_kernel(at.g, at.s, before.Theta_00),
            layer.lambda_W * values[1] + layer.C_W * (at.s * before.delta_Theta_1 + slopes[1] * before.Theta_00),
            second(2, before.deltadelta_Theta_2),
            second(0, before.deltadelta_Theta_0),
        )
        return after, jnp.abs(of_slope.g / at.s - 1)

    return every_layer(step, (first, jnp.zeros(())), layers)


def slope_averages(activation: Activation, K: Float[Array, "*K"]) -> SingleInput:
    r"""The averages of `single_input`, of $\sigma'$ in place of $\sigma$: $\langle\sigma'^2\rangle$, $\langle\sigma''^2\rangle$ and their
    derivatives in $K$."""
    z, weights = line_rule(K, activation.kinks)
    slope, bend, third = (activation.derivative(order)(z) for order in (1, 2, 3))

    def mean(terms: Array) -> Array:
        return jnp.sum(weights * terms, axis=-1)

    averages = from_means(mean, lambda g: mean((slope**2 - g[..., None]) ** 2), K, z, slope, bend, third)
    if not activation.kinks:
        return averages
    c = jnp.asarray(activation.kinks, dtype=K.dtype)
    return with_kinks(averages, K[..., None], c, *one_sided(activation, 1, c), *one_sided(activation, 2, c))
