r"""One step of gradient descent on a realised network: the step itself, and what it does to first order in the rate.

The step is tensorial, $\theta_\mu \leftarrow \theta_\mu - \eta\lambda_\mu\,\partial\mathcal L_{\mathcal S}/\partial\theta_\mu$, with the
rates $\lambda_b^{(\ell)}$ of biases and $\lambda_W^{(\ell)}/n_{\ell-1}$ of weights, PDLT (8.6), on the loss of all samples or of a batch
$\mathcal S$ of them. To first order all that changes does so through the tangent kernel; the predictions here contract it
with derivatives of the network without ever forming it, at the cost of one pass backwards and one forwards.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError, ShapeError
from .._validation import as_count, as_floats, as_inputs, as_number
from ..networks import MLP
from ..realised.observable import Observable, check_observable
from ..realised.parameters import Parameters, as_parameters, preactivations, rates_of_parameters
from .losses import Loss, as_loss, checked_loss


@entry(remedy="lower the rate, or call `tune`")
def gradient_step(
    net: MLP, params: Parameters, x: Any, y: Any, rate: float, *, loss: str | Loss = "mse", batch: Any = None
) -> Parameters:
    r"""The parameters after one step, PDLT (7.11), with the rates of `net`, PDLT (8.6); stochastic with `batch`, PDLT (7.10).

    **Arguments:**

    - `params`: the network's parameters, such as `draw_parameters` gives.
    - `x`, `y`: inputs (N, n_0) and targets (N, n_L), one sample a row.
    - `rate`: the global learning rate $\eta$.
    - `loss`: `"mse"`, `"cross_entropy"`, or a function of outputs and targets to a number.
    - `batch`: the numbers of the samples that the step sees; all of them unless given.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> params = fw.draw_parameters(net, 0)
        >>> fw.gradient_step(net, params, [[1.0, 0.5]], [[1.0]], rate=0.1).biases[0].shape
        (8,)
    """
    params, inputs, targets = _data(net, params, x, y)
    change = _update(net, params, *_batch(inputs, targets, batch), rate, as_loss(loss))
    return jax.tree.map(jnp.add, params, change)


@entry(remedy="lower the rate, or call `tune`")
def predicted_loss_change(
    net: MLP, params: Parameters, x: Any, y: Any, rate: float, *, loss: str | Loss = "mse", batch: Any = None
) -> Array:
    r"""The change of the loss of all samples in one `gradient_step`, to first order in the rate, PDLT (8.13):

    $$\Delta\mathcal L = -\eta\sum_{i_1i_2}\sum_{\alpha_1\in\mathcal A,\,\alpha_2\in\mathcal S}
      \epsilon_{i_1;\alpha_1}\epsilon^{\mathcal S}_{i_2;\alpha_2}\widehat H^{(L)}_{i_1i_2;\alpha_1\alpha_2} + O(\eta^2),\qquad
      \epsilon_{i;\alpha} = \frac{\partial\mathcal L}{\partial z^{(L)}_{i;\alpha}}\quad\text{PDLT (8.14)}.$$

    With `batch` the step follows the error of the batch $\mathcal S$ alone, and may raise the loss of the others. Arguments as for
    `gradient_step`.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> params = fw.draw_parameters(net, 0)
        >>> bool(fw.learning.predicted_loss_change(net, params, [[1.0, 0.5]], [[1.0]], rate=0.1) < 0)
        True
    """
    cost = as_loss(loss)
    params, inputs, targets = _data(net, params, x, y)
    change = _update(net, params, *_batch(inputs, targets, batch), rate, cost)
    return _along(lambda theta: _loss(net, theta, inputs, targets, cost), params, change)


@entry(remedy="lower the rate, or call `tune`")
def predicted_change(
    net: MLP,
    params: Parameters,
    x: Any,
    y: Any,
    rate: float,
    observable: Observable,
    *,
    layer: int,
    observed: Any = None,
    loss: str | Loss = "mse",
    batch: Any = None,
) -> Array:
    r"""The change of an observable of layer $\ell$ in one `gradient_step`, to first order in the rate, PDLT (8.3):

    $$\Delta\mathcal O = -\eta\sum_{i_1i_2}\sum_{\alpha\in\mathcal S,\,\delta}\frac{d\mathcal L}{dz^{(\ell)}_{i_1;\alpha}}
      \frac{\partial\mathcal O}{\partial z^{(\ell)}_{i_2;\delta}}\widehat H^{(\ell)}_{i_1i_2;\alpha\delta} + O(\eta^2),$$

    with $d\mathcal L/dz^{(\ell)}$ from the chain rule, PDLT (8.4).

    **Arguments:** as for `gradient_step`, and

    - `observable`: a function of the layer's preactivations, shape (number of observed samples, $n_\ell$).
    - `layer`: $\ell$, from 1 to the network's depth.
    - `observed`: the inputs at which to observe, shape (M, n_0); `x` unless given.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> params = fw.draw_parameters(net, 0)
        >>> change = fw.learning.predicted_change(net, params, [[1.0, 0.5]], [[1.0]], 0.1, lambda z: z[0, 0], layer=3)
        >>> change.shape
        ()
    """
    params, inputs, targets = _data(net, params, x, y)
    at = as_count(layer, "layer")
    if at > net.depth:
        raise DomainError("layer", at, f"at most {net.depth}, the network's depth")
    seen = inputs if observed is None else as_inputs(observed, "observed", net.widths[0])
    check_observable(observable, (len(seen), net.widths[at]), "observable")
    change = _update(net, params, *_batch(inputs, targets, batch), rate, as_loss(loss))
    return _along(lambda theta: observable(preactivations(net, theta, seen)[at - 1]), params, change)


def _update(net: MLP, params: Parameters, x: Array, y: Array, rate: float, loss: Loss) -> Parameters:
    r"""$-\eta\lambda_\mu\,\partial\mathcal L/\partial\theta_\mu$."""
    step = as_number(rate, "rate")
    gradient = jax.grad(lambda theta: _loss(net, theta, x, y, loss))(params)
    return jax.tree.map(lambda one, slope: -step * one * slope, rates_of_parameters(net), gradient)


def _loss(net: MLP, params: Parameters, x: Array, y: Array, loss: Loss) -> Array:
    return checked_loss(loss, preactivations(net, params, x)[-1], y)


def _along(function: Callable[[Parameters], Array], params: Parameters, change: Parameters) -> Array:
    return jax.jvp(function, (params,), (change,))[1]


def _data(net: MLP, params: Parameters, x: Any, y: Any) -> tuple[Parameters, Array, Array]:
    params, inputs, targets = as_parameters(net, params), as_inputs(x, "x", net.widths[0]), as_floats(y, "y")
    if targets.shape != (len(inputs), net.widths[-1]):
        raise ShapeError("y", f"shape {targets.shape}", f"shape ({len(inputs)}, {net.widths[-1]}): one target a sample")
    return params, inputs, targets


def _batch(x: Array, y: Array, batch: Any) -> tuple[Array, Array]:
    if batch is None:
        return x, y
    numbers = np.asarray(batch)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len(numbers) == 0:
        raise ShapeError("batch", f"{batch!r}", "a list of sample numbers")
    if not ((numbers >= 0) & (numbers < len(x))).all():
        raise DomainError("batch", numbers.tolist(), f"sample numbers from 0 to {len(x) - 1}")
    return x[numbers], y[numbers]
