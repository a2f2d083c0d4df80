r"""The tangent kernel of one network and its differentials, with joint indices: sample and output in one, sample first.

With $v_a = \lambda\nabla z_a$, $F(s) = z(\theta + \sum_as_av_a)$ has them all as derivatives at zero: $\widehat H_{ab} = \partial_bF_a$,
$\widehat{dH}_{abc} = \partial_b\partial_cF_a$, $\widehat{dd_IH}_{abcd} = \partial_b\partial_c\partial_dF_a$, PDLT (11.7)-(11.8), (∞.5), and
$\widehat{dd_{II}H}_{abcd} = (\nabla^2z_av_c)\cdot\lambda(\nabla^2z_bv_d)$, PDLT (∞.7).
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Float

from ..._arrays import Array
from ...activations import Activation
from ...networks import MLP
from ...realised.parameters import Parameters
from ..step import rates_of_parameters


class Joint(NamedTuple):
    """First outputs of one network, its tangent kernel and the differentials of that."""

    z: Float[Array, " M"]
    H: Float[Array, "M M"]
    dH: Float[Array, "M M M"]
    ddH_I: Float[Array, "M M M M"]
    ddH_II: Float[Array, "M M M M"]


def joint_differentials(net: MLP, params: Parameters, x: Float[Array, "N n_0"]) -> Joint:
    """On all samples of `x` and all outputs."""
    rates = jax.tree.map(lambda rate, leaf: jnp.broadcast_to(rate, jnp.shape(leaf)), rates_of_parameters(net), params)
    return _joint(net.activation, params, rates, x)


def outputs(activation: Activation, params: Parameters, x: Float[Array, "N n_0"]) -> Float[Array, " M"]:
    """Of the network, one after another, those of the first sample first."""
    z = x @ params.weights[0].T + params.biases[0]
    for W, b in zip(params.weights[1:], params.biases[1:], strict=True):
        z = activation(z) @ W.T + b
    return z.ravel()


@partial(jax.jit, static_argnums=0)
def _joint(activation: Activation, params: Parameters, rates: Parameters, x: Float[Array, "N n_0"]) -> Joint:
    theta, as_params = ravel_pytree(params)
    rate, _ = ravel_pytree(rates)

    def z(theta: Array) -> Array:
        return outputs(activation, as_params(theta), x)

    first = z(theta)
    slopes = jax.jacrev(z)(theta)
    directions = rate * slopes

    def along(s: Array) -> Array:
        return z(theta + s @ directions)

    def slopes_along(s: Array) -> Array:
        return jax.jacrev(z)(theta + s @ directions)

    nothing = jnp.zeros(len(first))
    bend = jax.jacfwd(jax.jacfwd(along))
    bent = jax.jacfwd(slopes_along)(nothing)  # at [a, parameter, c]
    second = jnp.einsum("amc,m,bmd->abcd", bent, rate, bent)
    return Joint(first, slopes @ directions.T, bend(nothing), jax.jacfwd(bend)(nothing), second)
