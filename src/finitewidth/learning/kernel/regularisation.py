r"""What a penalty $\sum_\mu a_\mu\theta_\mu^2$ on parameters does to outputs: the tensor $\widehat R$, PDLT (10.42)-(10.43)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array, diagonal
from ..._compile import compiled_in_haste
from ..._entry import entry
from ..._validation import as_inputs, per_layer
from ...activations import Activation
from ...critical.one_input.averages import single_input
from ...gaussian.accuracy import gram_rule
from ...gaussian.pairs import PairRule, pair_moment
from ...kernels.kernel_map import gram, largest_variance
from ...networks import MLP, Layer, as_mlp
from ...realised.parameters import Parameters, as_parameters, preactivations, rates_of_parameters


@entry()
def regularisation_tensor(net: MLP, params: Parameters, x: Any, a_b: Any, a_W: Any) -> Float[Array, "N n_L"]:
    r"""$\widehat R_{i;\alpha} = \sum_\mu\lambda_\mu a_\mu\theta_\mu\,dz_{i;\alpha}/d\theta_\mu$ of one network, PDLT (10.42): to first
    order a step of rate $\eta$ on the penalty $\sum_\mu a_\mu\theta_\mu^2$ moves outputs by $-2\eta\widehat R$.

    **Arguments:**

    - `params`: the network's parameters.
    - `a_b`, `a_W`: penalties of biases and of weights times their fan-in, scalars or one a layer: a weight of layer $\ell$ has the
      penalty $n_{\ell-1}\hat a_W^{(\ell)}$, so that all layers stay comparable as widths grow.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> params = fw.draw_parameters(net, 0)
        >>> R = fw.learning.regularisation_tensor(net, params, [[1.0, 0.5]], a_b=0.0, a_W=0.1)
        >>> bool(np.isclose(R, 3 * 0.1 * fw.realised.apply(net, params, [[1.0, 0.5]])[-1]).item())
        True
    """
    params, inputs = as_parameters(as_mlp(net), params), as_inputs(x, "x", net.widths[0])
    of_bias, of_weight = per_layer(a_b, "a_b", net.depth), per_layer(a_W, "a_W", net.depth)
    penalties = Parameters(
        tuple(jnp.reshape(a * n, (1, 1)) for a, n in zip(of_weight, net.widths[:-1], strict=True)),
        tuple(jnp.asarray(of_bias)[:, None]),
    )
    direction = jax.tree.map(lambda rate, a, theta: rate * a * theta, rates_of_parameters(net), penalties, params)
    return jax.jvp(lambda theta: preactivations(net, theta, inputs)[-1], (params,), (direction,))[1]


@entry()
def regularisation_correlation(net: MLP, x: Any, a_b: Any, a_W: Any) -> Float[Array, "N N"]:
    r"""$r_{\alpha\beta} = E[\widehat R_{i;\alpha}z_{i;\beta}]$ at infinite width, not symmetric, from the recursion of $\widehat R$,
    PDLT (10.43):

    $$r' = a_b\lambda_bC_b + \hat a_W\lambda_WC_W\langle\sigma_\alpha\sigma_\beta\rangle +
      C_W\big[r_{\alpha\alpha}\langle\sigma''_\alpha\sigma_\beta\rangle + r_{\alpha\beta}\langle\sigma'_\alpha\sigma'_\beta\rangle\big].$$

    Arguments as for `regularisation_tensor`, without parameters.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> r = fw.learning.regularisation_correlation(net, [[1.0, 0.5]], a_b=0.0, a_W=0.1)
        >>> bool(np.isclose(r, 3 * 0.1 * fw.kernel(net, [[1.0, 0.5]])).item())
        True
    """
    K1 = as_mlp(net).first_kernel(x)
    of_bias, of_weight = (jnp.asarray(per_layer(a, name, net.depth)) for a, name in ((a_b, "a_b"), (a_W, "a_W")))
    rule = gram_rule(net.activation, largest_variance(net, K1), derivatives=2)
    return _correlation(net.activation, net.layers, of_bias, of_weight, K1, net.overlap(x), rule)


@compiled_in_haste(static_argnums=0)
def _correlation(
    activation: Activation,
    layers: Layer,
    a_b: Float[Array, " L"],
    a_W: Float[Array, " L"],
    K1: Float[Array, "N N"],
    overlap: Float[Array, "N N"],
    rule: PairRule,
) -> Float[Array, "N N"]:
    def own(layer: Layer, of_bias: Array, of_weight: Array, average: Array) -> Array:
        return of_bias * layer.lambda_b * layer.C_b + of_weight * layer.lambda_W * layer.C_W * average

    def step(state: tuple[Array, Array], each: tuple[Layer, Array, Array]) -> tuple[tuple[Array, Array], None]:
        (K, r), (layer, of_bias, of_weight) = state, each
        variances = diagonal(K)
        values, slopes = gram(activation, K, rule), gram(activation, K, rule, slopes=True)
        off = ~np.eye(len(variances), dtype=bool)
        pairs = pair_moment(activation, 2, 0, variances[:, None], jnp.where(off, K, 0.0), variances[None], rule)
        alone = single_input(activation, variances)
        bends = jnp.where(
            off, pairs, (alone.dg - alone.s)[:, None]
        )  # the derivative of <sigma^2> in K, less <sigma'^2>
        passed = layer.C_W * (diagonal(r)[:, None] * bends + r * slopes)
        return (layer.kernel(values), own(layer, of_bias, of_weight, values) + passed), None

    first = own(layers[0], a_b[0], a_W[0], overlap)
    return jax.lax.scan(step, (K1, first), (layers[1:], a_b[1:], a_W[1:]))[0][1]
