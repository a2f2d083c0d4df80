"""What the first step of gradient descent does to the last hidden layer, over initialisations: little, as widths grow."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import DomainError
from ..._result import Result
from ..._validation import as_inputs, as_number
from ...expansion import flow
from ...gaussian.accuracy import gram_rule
from ...gaussian.line import line_rule
from ...kernels.kernel_map import gram, largest_variance
from ...networks import MLP, as_mlp
from .train_test import as_targets


class PenultimateStep(Result, eqx.Module):
    r"""Moments of the change $\bar dz^{(L-1)}_{j;\delta}$ of one neuron on training inputs first, then others; both are of order 1/n."""

    mean: Float[Array, " N"]
    r"""$E[\bar dz_{j;\delta}]$, PDLT (10.11)."""
    second_moment: Float[Array, "N N"]
    r"""$E[\bar dz_{j;\delta_1}\bar dz_{j;\delta_2}]$; zero between different neurons."""
    from_mean_kernel: Float[Array, "N N"]
    r"""The part of it that PDLT (10.12) prints: without the fluctuations of the tangent kernel between neurons."""


@entry()
def penultimate_step(net: MLP, x_train: Any, y_train: Any, rate: float, x_test: Any = None) -> PenultimateStep:
    r"""The change of layer $L-1$ in one step on squared errors, to leading order in 1/n and in the rate, PDLT (10.10)-(10.13):

    $$E[\bar dz_{j;\delta}] =
      -\eta\tfrac{C_Wn_L}{n_{L-1}}\sum_\alpha\Theta^{(L-1)}_{\delta\alpha}\langle\sigma'_\alpha\sigma_\alpha\rangle,$$

    $$E[\bar dz_{j;\delta_1}\bar dz_{j;\delta_2}] = \eta^2\tfrac{C_W}{n_{L-1}}\sum_{\alpha_1\alpha_2}M_{\alpha_1\alpha_2}
      \langle\sigma'_{\alpha_1}\sigma'_{\alpha_2}\rangle\Big[\Theta^{(L-1)}_{\delta_1\alpha_1}\Theta^{(L-1)}_{\delta_2\alpha_2} +
      \tfrac{n_{L-1}}{n_{L-2}}B^{(L-1)}_{\delta_1\delta_2\alpha_1\alpha_2}\Big],$$

    $M = n_LK^{(L)} + \sum_iy_iy_i$. The $B$ term is missing from PDLT (10.12), which replaces the tangent kernel by its mean: between
    different neurons that is zero, but its fluctuations sum over all of them to the same order.

    **Arguments:**

    - `net`: with at least two layers; widths count, as the result is of order 1/n.
    - `x_train`, `y_train`, `rate`: what is learned, and the global rate.
    - `x_test`: further inputs at which to ask.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> step = fw.learning.penultimate_step(net, [[1.0, 0.5], [0.3, -1.0]], [1.0, 0.0], rate=0.1)
        >>> step.mean.round(4).tolist()
        [-0.0523, -0.0493]
    """
    inputs = np.asarray(as_inputs(x_train, "x_train", as_mlp(net).widths[0]))
    if net.depth < 2:
        raise DomainError("net", "a network of one layer", "at least one hidden layer")
    targets, eta = as_targets(y_train, len(inputs), net.widths[-1]), as_number(rate, "rate")
    others = [] if x_test is None else [np.asarray(as_inputs(x_test, "x_test", net.widths[0]))]
    theory = flow(net, np.concatenate([inputs, *others]), through="ntk")
    K, theta, B = (np.asarray(part[-2]) for part in (theory.K, theory.Theta, theory.B))
    trained, per_neuron = slice(len(inputs)), float(net.C_W[-1]) / net.widths[-2]
    rule = gram_rule(net.activation, largest_variance(net, theory.K[0]), derivatives=1)
    slopes = np.asarray(gram(net.activation, jnp.asarray(K), rule, slopes=True))[trained, trained]
    mean = -eta * per_neuron * net.widths[-1] * theta[:, trained] @ _slope_times_value(net, np.diagonal(K)[trained])
    pull = (net.widths[-1] * np.asarray(theory.K[-1])[trained, trained] + targets @ targets.T) * slopes
    printed = eta**2 * per_neuron * theta[:, trained] @ pull @ theta[:, trained].T
    spread = 0.0 if net.depth == 2 else net.widths[-2] / net.widths[-3]
    between = eta**2 * per_neuron * spread * np.einsum("deab,ab->de", B[:, :, trained, trained], pull)
    return PenultimateStep(mean, printed + between, printed)


def _slope_times_value(net: MLP, variances: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    r"""$\langle\sigma'_\alpha\sigma_\alpha\rangle$."""
    z, weights = line_rule(jnp.asarray(variances), net.activation.kinks)
    return np.asarray(jnp.sum(weights * net.activation(z) * net.activation.derivative(1)(z), axis=-1))
