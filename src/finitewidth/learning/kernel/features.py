"""A network as a linear model: its random features before training, and the features of its tangent kernel."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._memory import check_memory
from ..._validation import as_inputs
from ...networks import MLP, as_mlp
from ...realised.parameters import Parameters, as_parameters, preactivations, rates_of_parameters


@entry()
def random_features(net: MLP, params: Parameters, x: Any) -> Float[Array, "N n_f"]:
    r"""The features that a network whose last layer alone is trained has, one sample a row: $\sqrt{C_b}$ and
    $\sqrt{C_W/n_{L-1}}\,\sigma(z^{(L-1)}_j)$, PDLT (10.134)-(10.137).

    Their kernel is the metric of the network, $\widehat k = C_b + \frac{C_W}{n_{L-1}}\sum_j\sigma_j\sigma_j = \widehat G^{(L)}$,
    PDLT (10.135), whose mean at infinite width is $K^{(L)}$; ridge regression on them is Bayesian inference given the
    hidden layers. A network of one layer has its inputs as features.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.learning.random_features(net, fw.draw_parameters(net, 0), [[1.0, 0.5]]).shape
        (1, 9)
    """
    params, inputs = as_parameters(as_mlp(net), params), as_inputs(x, "x", net.widths[0])
    signals = inputs if net.depth == 1 else net.activation(preactivations(net, params, inputs)[-2])
    bias = jnp.full((len(inputs), 1), jnp.sqrt(net.C_b[-1]))
    return jnp.concatenate([bias, jnp.sqrt(net.C_W[-1] / net.widths[-2]) * signals], axis=1)


@entry()
def tangent_features(net: MLP, params: Parameters, x: Any) -> Float[Array, "N n_L P"]:
    r"""$\sqrt{\lambda_\mu}\,dz_{i;\alpha}/d\theta_\mu$, PDLT (10.138)-(10.139), at [sample, output, parameter].

    The features of the linear model that a network is while its parameters move little. Their kernel
    $\sum_\mu\lambda_\mu\widehat\phi_{i,\mu}\widehat\phi_{j,\mu} = \widehat H_{ij}$ is the tangent kernel of the network, PDLT (10.140), at
    infinite width $\Theta$, PDLT (10.141). Parameters are in the order of `jax.tree.leaves(params)`, each flattened.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> params = fw.draw_parameters(net, 0)
        >>> features = fw.learning.tangent_features(net, params, [[1.0, 0.5]])
        >>> bool(np.isclose(np.sum(features**2), fw.ntk(net, params, [[1.0, 0.5]])[-1].item()))
        True
    """
    params, inputs = as_parameters(as_mlp(net), params), as_inputs(x, "x", net.widths[0])
    what = f"{len(inputs)} samples with {net.widths[-1]} outputs and {net.parameters} parameters"
    check_memory(
        24.0 * len(inputs) * net.widths[-1] * net.parameters, "x", what, "fewer samples, outputs or parameters"
    )
    slopes = jax.jacrev(lambda theta: preactivations(net, theta, inputs)[-1])(params)
    scaled = jax.tree.map(lambda rate, slope: jnp.sqrt(rate) * slope, rates_of_parameters(net), slopes)
    samples, outputs = len(inputs), net.widths[-1]
    return jnp.concatenate([leaf.reshape(samples, outputs, -1) for leaf in jax.tree.leaves(scaled)], axis=-1)
