"""The tangent kernel between two inputs of a critical scale-invariant network, layer by layer."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Float

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ..._entry import entry
from ..._result import Result
from ..._validation import as_count, as_number, per_layer
from ...activations import Activation
from ...kernels.every_layer import every_layer
from ...networks import Layer
from ..one_input.equal_layers import equal_layers
from .angle_moments import corner_strength
from .finite_angle import as_angle, as_scale_invariant, next_angle


class TangentAngleFlow(Result, eqx.Module):
    r"""Layer $\ell$ at index $\ell-1$: the angle of the inputs, $\Theta_{11} = \Theta_{22}$ and $\Theta_{12}$."""

    axes = ("layer",)

    psi: Float[Array, " L"]
    diagonal: Float[Array, " L"]
    between: Float[Array, " L"]

    @property
    def correlation(self) -> Float[Array, " L"]:
        r"""$\Theta_{12}/\Theta_{11}$."""
        return self.between / self.diagonal


@entry()
def tangent_angle_flow(
    activation: str | Activation,
    psi: float,
    depth: int,
    K_d: float = 1.0,
    lambda_b: Float[Array, " L"] | float | Any = 1.0,
    lambda_W: Float[Array, " L"] | float | Any = 1.0,
) -> TangentAngleFlow:
    r"""$\Theta_{12}$ of two inputs of equal norm at an angle $\psi$ at criticality, PDLT (8.63), (5.162).

    $$\chi_{\perp,12} = 1 - \rho\psi,\qquad \Theta_{12}' = \lambda_b + \lambda_WA_2K_d\cos\psi' + (1-\rho\psi)\,\Theta_{12},$$

    with $\rho = \frac{(a_+-a_-)^2}{2\pi A_2}$. Since $\psi \to \frac3{\rho\ell}$, PDLT (5.166), $\chi_{\perp,12} \to 1-\frac3\ell$ and for
    uniform rates $\Theta_{12}/\Theta_{11} \to \frac14$, whatever the slopes and the inputs, unless the activation is linear.

    **Arguments:**

    - `activation`: scale-invariant.
    - `psi`: the angle of the inputs, in $[0, \pi]$.
    - `K_d`: the kernel of each input, which criticality keeps.
    - `lambda_b`, `lambda_W`: learning rates, scalars or one per layer.

    Examples:
        >>> fw.critical.tangent_angle_flow("relu", 0.5, depth=3).diagonal.tolist()
        [1.5, 3.0, 4.5]
    """
    sigma, layers = as_scale_invariant(activation), as_count(depth, "depth")
    angle = as_angle(psi)
    rates = per_layer(lambda_b, "lambda_b", layers), per_layer(lambda_W, "lambda_W", layers)
    g = sigma.A2 * as_number(K_d, "K_d", low=0.0)
    critical = equal_layers(layers, 0.0, 1 / sigma.A2, *rates)
    return TangentAngleFlow(*_flow(jnp.asarray(corner_strength(sigma)), angle, jnp.asarray(g), critical))


@compiled_in_haste(light=5000)
def _flow(
    rho: Float[Array, ""], psi: Float[Array, ""], g: Float[Array, ""], layers: Layer
) -> tuple[Float[Array, " L"], Float[Array, " L"], Float[Array, " L"]]:
    def added(layer: Layer, angle: Array) -> tuple[Array, Array]:
        return layer.own_tangent_kernel(g), layer.own_tangent_kernel(g * jnp.cos(angle))

    def step(state: tuple[Array, Array, Array], layer: Layer) -> tuple[Array, Array, Array]:
        angle, diagonal, between = state
        new = next_angle(rho, angle)
        own, other = added(layer, new)
        return new, own + diagonal, other + (1 - rho * angle) * between

    return every_layer(step, (psi, *added(layers[0], psi)), layers[1:])
