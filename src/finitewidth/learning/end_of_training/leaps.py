r"""Direct optimisation of one network: leaps of second order, which reach the end of training in one step or two."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..._arrays import Array
from ..._entry import entry
from ..._errors import UnknownNameError
from ..._result import Result
from ..._validation import as_inputs
from ...kernels import frozen_ntk
from ...networks import MLP, as_mlp
from ...realised.parameters import Parameters, as_parameters, preactivations, rates_of_parameters
from ..kernel.train_test import as_targets
from .algorithm import positive_spectrum
from .joint import Joint, joint_differentials

KINDS = ("infinite_width", "generalised", "tuned")


class Leap(Result, eqx.Module):
    r"""One step $d\theta = -\lambda\,z'^{\mathsf T}\,\eta\kappa\,\epsilon$, PDLT (∞.68)."""

    newton_tensor: Float[Array, "M M"]
    r"""$\eta\kappa$, with joint indices of training inputs and outputs, those of the first input first."""
    residual: Float[Array, "N_train n_L"]
    r"""$z(1)-y$ as theory has it: $\epsilon - \widehat Ha + \frac12\widehat{dH}aa - \frac16\widehat{dd_IH}aaa$,
    $a = \eta\kappa\,\epsilon$, PDLT (∞.64), (∞.73)."""
    params: Parameters
    """The parameters after the step, which has been made."""


@entry(remedy="lower the rate, or call `tune`")
def leap(net: MLP, params: Parameters, x_train: Any, y_train: Any, kind: str = "generalised") -> Leap:
    r"""One second-order step of a network that would end training if something were exactly so.

    **Arguments:**

    - `net`, `params`, `x_train`, `y_train`: a network with its parameters, inputs, targets (N_train, n_L).
    - `kind`: `"infinite_width"`, $\eta\kappa = \widetilde\Theta^{-1}$, PDLT (∞.62), as if the kernel were that of infinite width: it
      misses by $n^{-1/2}$, PDLT (∞.61)-(∞.65); `"generalised"`, $\widehat H^{-1}$, PDLT (∞.71): it misses by what the kernel changes
      within the step, $1/n$, and a second one ends the two-step solution, PDLT (∞.77)-(∞.79); `"tuned"`, PDLT (∞.80), corrects for
      that change beforehand.

    Examples:
        >>> net = fw.MLP("tanh", (2, 8, 1))
        >>> fw.learning.leap(net, fw.draw_parameters(net, 0), [[1.0, 0.5]], [[1.0]]).newton_tensor.shape
        (1, 1)
    """
    if kind not in KINDS:
        raise UnknownNameError("kind", kind, KINDS)
    params = as_parameters(as_mlp(net), params)
    x = np.asarray(as_inputs(x_train, "x_train", net.widths[0]))
    y = as_targets(y_train, len(x), net.widths[-1])
    found = joint_differentials(net, params, x)
    error = found.z - y.ravel()
    tensor = _newton_tensor(net, x, found, error, kind)
    a = tensor @ error
    residual = error - found.H @ a + np.einsum("abc,b,c->a", found.dH, a, a) / 2
    residual = residual - np.einsum("abcd,b,c,d->a", found.ddH_I, a, a, a, optimize=True) / 6
    _, pull = jax.vjp(lambda theta: preactivations(net, theta, x)[-1].ravel(), params)
    moved = jax.tree.map(
        lambda old, rate, slope: old - rate * slope, params, rates_of_parameters(net), pull(jnp.asarray(a))[0]
    )
    return Leap(tensor, residual.reshape(y.shape), moved)


def _newton_tensor(
    net: MLP, x: Float[np.ndarray, "N n_0"], found: Joint, error: Float[np.ndarray, " M"], kind: str
) -> Float[np.ndarray, "M M"]:
    if kind == "infinite_width":
        theta = np.asarray(frozen_ntk(net, x))
        positive_spectrum(theta, "x_train")
        return np.kron(np.linalg.inv(theta), np.eye(net.widths[-1]))
    positive_spectrum(np.asarray(found.H), "x_train")
    inverse = np.linalg.inv(found.H)
    if kind == "generalised":
        return inverse
    a = inverse @ error
    bent = np.einsum("abc,c->ab", found.dH, a) / 2 - np.einsum("abcd,c,d->ab", found.ddH_I, a, a) / 6
    return inverse + inverse @ bent @ inverse


@entry()
def taylor_outputs(
    net: MLP, params: Parameters, displacement: Parameters, x: Any, order: int = 3
) -> Float[Array, "N n_L"]:
    r"""A network as a model of its own features, PDLT (11.143)-(11.153): outputs at $\theta+\Delta$ as a polynomial in the displacement,

    $$z_i(\theta) + \sum_\mu\widehat\phi_{i,\mu}\Delta_\mu + \tfrac12\sum\epsilon\widehat\psi_{i,\mu\nu}\Delta_\mu\Delta_\nu
      + \tfrac16\sum\widehat\Psi_{i,\mu\nu\rho}\Delta_\mu\Delta_\nu\Delta_\rho,$$

    the random features, meta features and meta-meta features being derivatives of the network, PDLT (11.144)-(11.152). The quadratic model
    (`order=2`) learns, but at order $1/n$ the cubic term of a network is as large as the quadratic one.

    **Arguments:**

    - `displacement`: of the parameters, one number for each.
    - `order`: 1, 2 or 3, the last that is kept.

    Examples:
        >>> net = fw.MLP("tanh", (2, 8, 1))
        >>> params = fw.draw_parameters(net, 0)
        >>> fw.learning.taylor_outputs(net, params, params, [[1.0, 0.5]], order=1).shape
        (1, 1)
    """
    params, shift = as_parameters(as_mlp(net), params), as_parameters(net, displacement)
    inputs = as_inputs(x, "x", net.widths[0])
    if order not in (1, 2, 3):
        raise UnknownNameError("order", order, ("1", "2", "3"))

    def along(s: Array) -> Array:
        return preactivations(net, jax.tree.map(lambda start, step: start + s * step, params, shift), inputs)[-1]

    derivative, total, factor = along, along(jnp.zeros(())), 1.0
    for power in range(1, order + 1):
        derivative, factor = jax.jacfwd(derivative), factor / power
        total = total + factor * derivative(jnp.zeros(()))
    return total
