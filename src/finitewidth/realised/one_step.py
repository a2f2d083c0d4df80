r"""What one step of gradient descent does to a network's outputs, tangent kernel and its differential, from these at the start.

The step is $đ\theta_\mu = -\eta\lambda_\mu\sum\epsilon_{j;\alpha}\,dz_{j;\alpha}/d\theta_\mu$, PDLT (11.4), with the error factor
$\epsilon = d\mathcal L/dz$, PDLT (11.5). To the orders in $\eta$ that are needed at order $1/n$,

$$đz_\delta = -\eta H_{\delta1}\epsilon_1 + \tfrac{\eta^2}2dH_{\delta12}\epsilon_1\epsilon_2
  - \tfrac{\eta^3}6dd_IH_{\delta123}\epsilon_1\epsilon_2\epsilon_3 + O(\eta^4)\quad\text{PDLT (11.9), (∞.4)},$$

$$đH_{12} = -\eta(dH_{12j} + dH_{21j})\epsilon_j + \tfrac{\eta^2}2(dd_IH_{12jk} + dd_IH_{21jk} + 2dd_{II}H_{12jk})\epsilon_j\epsilon_k
  + O(\eta^3)\quad\text{PDLT (11.10), (∞.6)},$$

$$đdH_{012} = -\eta(dd_IH_{012j} + dd_{II}H_{012j} + dd_{II}H_{021j})\epsilon_j + O(\eta^2)\quad\text{PDLT (∞.9)};$$

numbers stand for a sample and a neuron, and those that occur twice are summed.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import ShapeError
from .._result import Result
from .._validation import as_floats, as_inputs, as_number
from ..networks import MLP
from .differentials import ddntk, dntk
from .parameters import Parameters, as_parameters
from .tangent_kernel import ntk


class OneStep(Result, eqx.Module):
    """Predicted changes in one step, samples before neurons."""

    output: Float[Array, "N n_L"]
    r"""$đz$, with errors of order $\eta^4$."""
    ntk: Float[Array, "N N n_L n_L"]
    r"""$đ\widehat H$, with errors of order $\eta^3$."""
    dntk: Float[Array, "N N N n_L n_L n_L"]
    r"""$đ\widehat{dH}$, with errors of order $\eta^2$."""


@entry(remedy="lower the rate")
def one_step(net: MLP, params: Parameters, x: Any, errors: Any, rate: float) -> OneStep:
    r"""The changes of output, tangent kernel and its differential in one step of gradient descent, PDLT (11.1)-(11.10), (∞.4)-(∞.9).

    **Arguments:**

    - `params`: the network's parameters, such as `draw_parameters` gives.
    - `x`: inputs, shape (N, n_0), those of training and others.
    - `errors`: the error factors $\epsilon_{i;\alpha} = d\mathcal L/dz_{i;\alpha}$, shape (N, n_L): $z - y$ for the loss
      $\frac12\sum(z - y)^2$, and zero for inputs that are not trained on.
    - `rate`: the global learning rate $\eta$.

    Examples:
        >>> net = fw.MLP("tanh", (2, 8, 8, 1))
        >>> params = fw.draw_parameters(net, 0)
        >>> fw.realised.one_step(net, params, [[1.0, 0.5], [0.3, -1.0]], [[0.3], [0.0]], rate=0.1).output.shape
        (2, 1)
    """
    params, inputs, step = as_parameters(net, params), as_inputs(x, "x", net.widths[0]), as_number(rate, "rate")
    e = as_floats(errors, "errors")
    if e.shape != (len(inputs), net.widths[-1]):
        raise ShapeError("errors", f"shape {e.shape}", f"shape ({len(inputs)}, {net.widths[-1]}): one for each output")
    H, dH = jnp.asarray(ntk(net, params, inputs, layers="last")[-1]), jnp.asarray(dntk(net, params, inputs))
    first, second = map(jnp.asarray, ddntk(net, params, inputs))
    with_one = jnp.einsum("abcdijkl,dl->abcijk", first, e)
    with_two = jnp.einsum("abcijk,ck->abij", with_one, e)
    bent, twice_bent = jnp.einsum("abcijk,ck->abij", dH, e), jnp.einsum("abcdijkl,dl->abcijk", second, e)
    output = -step * jnp.einsum("abij,bj->ai", H, e) + step**2 / 2 * jnp.einsum("abij,bj->ai", bent, e)
    output -= step**3 / 6 * jnp.einsum("abij,bj->ai", with_two, e)
    both = bent + jnp.transpose(bent, (1, 0, 3, 2))
    both_second = with_two + jnp.transpose(with_two, (1, 0, 3, 2))
    both_second += 2 * jnp.einsum("abcijk,ck->abij", twice_bent, e)
    change = with_one + twice_bent + jnp.transpose(twice_bent, (0, 2, 1, 3, 5, 4))
    return OneStep(output, -step * both + step**2 / 2 * both_second, -step * change)
