r"""The differentials of the tangent kernel of one network: how its tangent kernel will change as it learns.

By automatic differentiation, with derivatives along $\lambda\nabla z_{i;\alpha}$ only: no Hessian is formed. By the forward equations, from
layer to layer. The two agree to rounding.
"""

from typing import Any, Literal, cast, get_args

import jax
import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from .._compile import compiled_in_haste
from .._entry import entry
from .._errors import UnknownNameError
from .._memory import check_memory
from .._validation import as_inputs
from ..kernels.differentials import check_has_second_differential
from ..kernels.tangent_map import check_has_tangent_kernel
from ..networks import MLP
from .forward_differentials import Differentials, Signals, first_differentials, next_differentials
from .parameters import Parameters, as_parameters, preactivations, rates_of_parameters
from .tangent_kernel import ntk

Route = Literal["autodiff", "forward"]

_BYTES = 8 * 4  # of a number, of which a few copies are alive


@entry(remedy="lower C_W or the depth")
def dntk(net: MLP, params: Parameters, x: Any, *, method: Route = "autodiff") -> Float[Array, "N N N n_L n_L n_L"]:
    r"""The differential of the tangent kernel of one network's outputs, PDLT (11.8):

    $$\widehat{dH}_{i_0i_1i_2;\delta_0\delta_1\delta_2} = \sum_{\mu\nu}\lambda_\mu\lambda_\nu
      \frac{d^2z_{i_0;\delta_0}}{d\theta_\mu d\theta_\nu}\frac{dz_{i_1;\delta_1}}{d\theta_\mu}\frac{dz_{i_2;\delta_2}}{d\theta_\nu},$$

    with the rates of `net`, PDLT (8.6). Its mean over networks is zero; `flow(net, x, through="dntk")` has its correlation with outputs.

    **Arguments:**

    - `params`: the network's parameters, such as `draw_parameters` gives.
    - `x`: inputs, shape (N, n_0).
    - `method`: `"autodiff"`, at a cost of $(Nn_L)^2$ forward passes, or `"forward"`, the equation PDLT (11.24) from layer to layer, which
      stores $N^3n^3$ numbers. They agree to rounding.

    **Returns:** shape (N, N, N, n_L, n_L, n_L), axes $(\delta_0, \delta_1, \delta_2, i_0, i_1, i_2)$; symmetric in $(i_1\delta_1)$ and
    $(i_2\delta_2)$. Where the activation has a kink, derivatives are those on either side of it: deltas are not seen.

    Examples:
        >>> net = fw.MLP("tanh", (2, 8, 8, 1))
        >>> params = fw.draw_parameters(net, 0)
        >>> fw.dntk(net, params, [[1.0, 0.5], [0.3, -1.0]]).shape
        (2, 2, 2, 1, 1, 1)
    """
    params, inputs = _checked(net, params, x)
    check_has_tangent_kernel(net.activation)
    if _as_route(method) == "forward":
        return every_differential(net, params, inputs, to_second=False)[-1].dH
    _check_autodiff(net, len(inputs), places=3)
    return _by_neuron(_first_by_autodiff(net, params, inputs), len(inputs), net.widths[-1])


@entry(remedy="lower C_W or the depth")
def ddntk(
    net: MLP, params: Parameters, x: Any, *, method: Route = "autodiff"
) -> tuple[Float[Array, "N N N N n_L n_L n_L n_L"], Float[Array, "N N N N n_L n_L n_L n_L"]]:
    r"""The two second differentials of the tangent kernel of one network's outputs, PDLT (∞.5), (∞.7):

    $$\widehat{dd_IH}_{0123} = \sum\lambda\lambda\lambda\frac{d^3z_0}{d\theta_\mu d\theta_\nu d\theta_\rho}
      \frac{dz_1}{d\theta_\mu}\frac{dz_2}{d\theta_\nu}\frac{dz_3}{d\theta_\rho},\qquad
      \widehat{dd_{II}H}_{1234} = \sum\lambda\lambda\lambda\frac{d^2z_1}{d\theta_\mu d\theta_\rho}\frac{d^2z_2}{d\theta_\nu d\theta_\rho}
      \frac{dz_3}{d\theta_\mu}\frac{dz_4}{d\theta_\nu},$$

    each number standing for a neuron and a sample. Arguments as for `dntk`; the forward equations are PDLT (∞.174), (∞.175) and store
    $N^4n^4$ numbers.

    **Returns:** $\widehat{dd_IH}$ and $\widehat{dd_{II}H}$, shapes (N, N, N, N, n_L, n_L, n_L, n_L), the four samples first, then the four
    neurons. The first is symmetric in its last three places, the second under $1 \leftrightarrow 2$ with $3 \leftrightarrow 4$.

    Examples:
        >>> net = fw.MLP("tanh", (2, 8, 8, 1))
        >>> params = fw.draw_parameters(net, 0)
        >>> first, second = fw.ddntk(net, params, [[1.0, 0.5]])
        >>> first.shape
        (1, 1, 1, 1, 1, 1, 1, 1)
    """
    params, inputs = _checked(net, params, x)
    check_has_second_differential(net.activation)
    if _as_route(method) == "forward":
        last = every_differential(net, params, inputs, to_second=True)[-1]
        assert last.first is not None
        assert last.second is not None
        return last.first, last.second
    _check_autodiff(net, len(inputs), places=4)
    first, second = _second_by_autodiff(net, params, inputs)
    samples, outputs = len(inputs), net.widths[-1]
    return _by_neuron(first, samples, outputs), _by_neuron(second, samples, outputs)


@compiled_in_haste()
def _first_by_autodiff(net: MLP, params: Parameters, x: Float[Array, "N n_0"]) -> Float[Array, "A A A"]:
    """Over joint indices of sample and neuron, samples first: two nested directional derivatives."""
    directions = _directions(net, params, x)

    def along(one: Parameters, two: Parameters) -> Array:
        return _jvp(lambda theta: _jvp(lambda t: _outputs(net, t, x), theta, one), params, two)

    rows = jax.vmap(jax.vmap(along, (None, 0)), (0, None))(directions, directions)
    return jnp.moveaxis(rows, -1, 0)


@compiled_in_haste()
def _second_by_autodiff(
    net: MLP, params: Parameters, x: Float[Array, "N n_0"]
) -> tuple[Float[Array, "A A A A"], Float[Array, "A A A A"]]:
    """Three nested directional derivatives, and products of derivatives of gradients."""
    directions = _directions(net, params, x)

    def gradients(theta: Parameters) -> Parameters:
        return jax.jacrev(lambda t: _outputs(net, t, x))(theta)

    def along(one: Parameters, two: Parameters, three: Parameters) -> Array:
        def twice(theta: Parameters) -> Array:
            return _jvp(lambda t: _jvp(lambda u: _outputs(net, u, x), t, one), theta, two)

        return _jvp(twice, params, three)

    over_third = jax.vmap(along, (None, None, 0))
    over_second = jax.vmap(over_third, (None, 0, None))
    first = jax.vmap(over_second, (0, None, None))(directions, directions, directions)
    bent = jax.vmap(lambda one: _jvp(gradients, params, one))(directions)  # (slot 3, slot 1, parameters)
    rates = rates_of_parameters(net)
    products = jax.tree.map(
        lambda rate, d: jnp.einsum("ca...,db...->abcd", jnp.broadcast_to(rate, d.shape[2:]) * d, d), rates, bent
    )
    return jnp.moveaxis(first, -1, 0), sum(jax.tree.leaves(products), start=jnp.zeros(()))


def every_differential(net: MLP, params: Parameters, x: Float[Array, "N n_0"], to_second: bool) -> list[Differentials]:
    """Every layer by the forward equations, having checked that they fit into memory."""
    samples, width = len(x), max(net.widths[1:])
    places = 4 if to_second else 3
    check_memory(
        _BYTES * (samples * width) ** places,
        "method",
        f"'forward' for {samples} samples and a width of {width}",
        "'autodiff', or fewer samples or neurons",
    )
    z, kernels = preactivations(net, params, x), ntk(net, params, x)
    derivatives = [net.activation.derivative(order) for order in range(4)]
    found = [first_differentials(jnp.asarray(kernels[0]), to_second)]
    for layer in range(1, net.depth):
        signals = Signals(*(derivative(z[layer - 1]) for derivative in derivatives))
        arguments = jnp.asarray(kernels[layer]), params.weights[layer], signals, net.layers[layer]
        found.append(next_differentials(found[-1], *arguments))
    return found


def _check_autodiff(net: MLP, samples: int, places: int) -> None:
    """All derivatives along all directions but one go forwards at the same time; of the second differential, gradients along each too."""
    outputs = net.widths[-1]
    joint, forwards = samples * outputs, samples * max(net.widths[1:])
    numbers = joint**places + joint ** (places - 1) * forwards + joint ** (places - 2) * net.parameters
    what = f"{samples} samples with {outputs} outputs, of which derivatives have {places} places"
    check_memory(_BYTES * float(numbers), "x", what, "fewer samples or outputs")


def _directions(net: MLP, params: Parameters, x: Float[Array, "N n_0"]) -> Parameters:
    r"""$\lambda\nabla z_{i;\alpha}$ for every sample and output, along a leading axis."""
    gradients = jax.jacrev(lambda theta: _outputs(net, theta, x))(params)
    return jax.tree.map(lambda rate, slope: rate * slope, rates_of_parameters(net), gradients)


def _outputs(net: MLP, params: Parameters, x: Float[Array, "N n_0"]) -> Float[Array, " A"]:
    return preactivations(net, params, x)[-1].reshape(-1)


def _jvp(function: Any, params: Parameters, direction: Parameters) -> Any:
    return jax.jvp(function, (params,), (direction,))[1]


def _by_neuron(tensor: Array, samples: int, outputs: int) -> Array:
    """Joint indices apart: all samples first, then all neurons."""
    places = tensor.ndim
    apart = tensor.reshape([samples, outputs] * places)
    return jnp.transpose(apart, [*range(0, 2 * places, 2), *range(1, 2 * places, 2)])


def _checked(net: MLP, params: Parameters, x: Any) -> tuple[Parameters, Float[Array, "N n_0"]]:
    return as_parameters(net, params), as_inputs(x, "x", net.widths[0])


def _as_route(method: Any) -> Route:
    if not isinstance(method, str) or method not in get_args(Route):
        raise UnknownNameError("method", method, get_args(Route))
    return cast(Route, method)
