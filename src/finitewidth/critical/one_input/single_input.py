"""Kernel, vertex and mean-metric correction of one input, layer by layer."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ..._entry import entry
from ..._errors import DomainError
from ..._result import Result
from ..._validation import as_count, as_floats, as_number, is_concrete
from ...activations import Activation, as_activation
from ...networks import Layer
from ...networks.layer import kernel_of
from .averages import single_input
from .equal_layers import equal_layers
from .trust import check_layers

_State = tuple[Array, Array, Array]


class SingleInputFlow(Result, eqx.Module):
    r"""Layer $\ell$ at index $\ell-1$, for hidden layers of equal width $n$:
    $E[z_iz_j] = \delta_{ij}(K + G^{\{1\}}/n)$ and $\mathrm{Cov}(z_i^2, z_j^2) = V/n$ for $i\neq j$.

    `chi_parallel` and `chi_perp` are the susceptibilities at `K`.
    """

    axes = ("layer",)

    K: Float[Array, "L *K"]
    V: Float[Array, "L *K"]
    G1: Float[Array, "L *K"]
    chi_parallel: Float[Array, "L *K"]
    chi_perp: Float[Array, "L *K"]


def flow_of_one_input(
    activation: Activation,
    K1: Float[Array, "*K"] | float,
    depth: int,
    C_b: float | Array,
    C_W: float | Array,
    c_b1: float | Array = 0.0,
    c_W1: float | Array = 0.0,
) -> SingleInputFlow:
    r"""The recursions PDLT (5.108)-(5.110), with corrections to the hyperparameters, PDLT (5.138)-(5.140):

    $$K' = C_b + C_Wg(K),\qquad V' = \chi_\parallel^2V + C_W^2\big[\langle\sigma^4\rangle_K -
    \langle\sigma^2\rangle_K^2\big],$$

    $$G^{\{1\}\prime} = c_b^{\{1\}} + c_W^{\{1\}}g(K) + \chi_\parallel G^{\{1\}} + \tfrac18j(K)\frac V{K^2},
      \qquad \frac{j}{8K^2} = \tfrac12C_Wg''(K).$$
    """
    layers = equal_layers(depth, C_b, C_W)
    return _compiled(activation, jnp.asarray(K1, float), layers, jnp.asarray(c_b1, float), jnp.asarray(c_W1, float))


@compiled_in_haste(light=5000, static_argnums=0)
def _compiled(
    activation: Activation, K1: Float[Array, "*K"], layers: Layer, c_b1: Float[Array, ""], c_W1: Float[Array, ""]
) -> SingleInputFlow:
    def step(state: _State, layer: Layer) -> tuple[_State, tuple[Array, ...]]:
        K, V, G1 = state
        at = single_input(activation, K)
        chi_parallel = layer.C_W * at.dg
        G1_next = kernel_of(c_b1, c_W1, at.g) + chi_parallel * G1 + layer.C_W * at.ddg * V / 2
        following = layer.kernel(at.g), layer.covariance(at.v, at.dg**2 * V), G1_next
        return following, (K, V, G1, chi_parallel, layer.C_W * at.s)

    zero = jnp.zeros_like(K1)
    return SingleInputFlow(*jax.lax.scan(step, (K1, zero, zero), layers)[1])


@entry()
def single_input_flow(
    activation: str | Activation | Callable[[Array], Array],
    K1: Float[Array, "*K"] | float | Any,
    depth: int,
    C_b: float,
    C_W: float,
    c_b1: float = 0.0,
    c_W1: float = 0.0,
) -> SingleInputFlow:
    r"""$K$, $V$ and $G^{\{1\}}$ of one input from its first-layer kernel, PDLT (5.108)-(5.110), (5.138)-(5.140).

    **Arguments:**

    - `activation`: a name, an `Activation`, or any elementwise JAX callable.
    - `K1`: the kernel of the first layer, $C_b + C_W|x|^2/n_0$; an array of them flows all at once.
    - `depth`: the number of layers $L$.
    - `C_b`, `C_W`: the hyperparameters of every layer.
    - `c_b1`, `c_W1`: their corrections, $C_{b,W} = c^{\{0\}} + c^{\{1\}}/n$.

    Examples:
        >>> fw.critical.single_input_flow("relu", 1.0, depth=3, C_b=0.0, C_W=2.0).V.round(6).tolist()
        [0.0, 5.0, 10.0]
    """
    sigma = as_activation(activation)
    first = as_floats(K1, "K1")
    if is_concrete(first) and not bool((np.asarray(first) > 0).all()):
        raise DomainError("K1", f"{np.asarray(first).min():g}", "positive kernels")
    layers = as_count(depth, "depth")
    parameters = (as_number(C_b, "C_b", low=0.0), as_number(C_W, "C_W", low=0.0))
    flow = flow_of_one_input(sigma, first, layers, *parameters, as_number(c_b1, "c_b1"), as_number(c_W1, "c_W1"))
    if is_concrete(flow.K):
        check_layers(sigma, flow.K, (flow.V, flow.G1), "K1, C_b, C_W")
    return flow
