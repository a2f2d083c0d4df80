r"""Two nearby inputs through the layers, to second order in their difference.

The three components are evolved as such: their difference is never formed from nearly equal kernels.
"""

import sys
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ..._entry import entry
from ..._errors import DomainError
from ..._result import Result
from ..._validation import as_count, as_number
from ...activations import Activation, as_activation
from ...networks import Layer
from ..one_input.averages import SingleInput, single_input
from ..one_input.equal_layers import equal_layers
from ..one_input.kinks import has_corner
from ..one_input.trust import check_continuous, check_layers


class PerturbedPair(Result, eqx.Module):
    r"""Layer $\ell$ at index $\ell-1$: `K_00` is the kernel of the midpoint input $x_0$, and to second order in
    $\delta x$: $K_{[0]} =$ `K_00` + `deltadelta_K_0`, $K_{[1]} =$ `delta_K_1`, $K_{[2]} =$ `deltadelta_K_2`. One layer alone,
    as in the recursion, has no axis of layers.
    """

    axes = ("layer",)

    K_00: Float[Array, "*L"]
    delta_K_1: Float[Array, "*L"]
    deltadelta_K_2: Float[Array, "*L"]
    deltadelta_K_0: Float[Array, "*L"]

    @property
    @entry()
    def jacobian_norm(self) -> Float[Array, "*L"]:
        r"""$\frac1{n_\ell}\sum_iE\big[(\sum_j\partial_jz_i\,\delta x_j)^2\big] = 4\,\delta\delta K_{[2]}$,
        PDLT (5.54)."""
        return 4 * self.deltadelta_K_2

    @property
    @entry()
    def eigenvalues(self) -> tuple[Float[Array, "*L"], Float[Array, "*L"]]:
        r"""Of the $2\times2$ kernel, PDLT (5.34): $\lambda_u = 2K_{00} + 2\delta\delta K_{[0]} + \frac{(\delta
        K_{[1]})^2}{2K_{00}}$, $\lambda_w = 2\delta\delta K_{[2]} - \frac{(\delta K_{[1]})^2}{2K_{00}}$."""
        shift = self.delta_K_1**2 / (2 * self.K_00)
        return 2 * self.K_00 + 2 * self.deltadelta_K_0 + shift, 2 * self.deltadelta_K_2 - shift

    @property
    @entry()
    def eigenvectors(self) -> tuple[Float[Array, "*L 2"], Float[Array, "*L 2"]]:
        r"""$\hat e^u, \hat e^w$ to second order in $\epsilon = \delta K_{[1]}/2K_{00}$, PDLT (5.33)."""
        e = self.delta_K_1 / (2 * self.K_00)
        u = jnp.stack([1 + e - e**2 / 2, 1 - e - e**2 / 2], axis=-1)
        w = jnp.stack([1 - e - e**2 / 2, -1 - e + e**2 / 2], axis=-1)
        return u / jnp.sqrt(2.0), w / jnp.sqrt(2.0)


def check_no_corner(activation: Activation) -> None:
    """`DomainError` unless kernels are analytic in the difference of two inputs."""
    check_continuous(activation)
    if has_corner(activation):
        got = f"{activation.name!r}, which has a corner: its kernel is not analytic in the angle of two inputs"
        raise DomainError("activation", got, "an activation with continuous slope, or `angle_flow`")


def shifts(at: SingleInput, pair: PerturbedPair) -> tuple[Array, Array, Array]:
    r"""The components beyond leading order of $\langle f(z_\pm)f(z_\pm)\rangle$, from the averages `at` of $f$ at $K_{00}$, PDLT (5.39):

    $$F_{[0]} = \delta\delta K_{[0]}D + \delta\delta K_{[2]}(D-s) + \tfrac12(\delta K_{[1]})^2(D'-s'),\quad
      F_{[1]} = \delta K_{[1]}D,\quad F_{[2]} = \delta\delta K_{[2]}s + \tfrac12(\delta K_{[1]})^2s',$$

    $D = d\langle f^2\rangle/dK$, $s = \langle f'^2\rangle$.
    """
    bent = pair.delta_K_1**2 / 2
    return (
        pair.deltadelta_K_0 * at.dg + pair.deltadelta_K_2 * (at.dg - at.s) + bent * (at.ddg - at.ds),
        pair.delta_K_1 * at.dg,
        pair.deltadelta_K_2 * at.s + bent * at.ds,
    )


def next_pair(at: SingleInput, pair: PerturbedPair, layer: Layer) -> PerturbedPair:
    """The kernels of the next layer from the averages `at` of the activation."""
    from_0, from_1, from_2 = shifts(at, pair)
    return PerturbedPair(layer.kernel(at.g), layer.C_W * from_1, layer.C_W * from_2, layer.C_W * from_0)


@compiled_in_haste(light=5000, static_argnums=0)
def _flow(activation: Activation, first: PerturbedPair, layers: Layer) -> PerturbedPair:
    def step(pair: PerturbedPair, layer: Layer) -> tuple[PerturbedPair, PerturbedPair]:
        return next_pair(single_input(activation, pair.K_00), pair, layer), pair

    return jax.lax.scan(step, first, layers)[1]


@entry()
def perturbed_pair_flow(
    activation: str | Activation | Callable[[Array], Array],
    K_00: float,
    delta_K_1: float,
    deltadelta_K_2: float,
    depth: int,
    C_b: float,
    C_W: float,
) -> PerturbedPair:
    r"""The bootstrapped recursions PDLT (5.46)-(5.48) from the first layer, where $\delta\delta K_{[0]} = 0$:

    $$K_{00}' = C_b + C_Wg(K_{00}),\qquad \delta K_{[1]}' = \chi_\parallel\,\delta K_{[1]},\qquad
      \delta\delta K_{[2]}' = \chi_\perp\,\delta\delta K_{[2]} + h\,(\delta K_{[1]})^2,$$

    $$\delta\delta K_{[0]}' = \chi_\parallel\,\delta\delta K_{[0]} + (\chi_\parallel-\chi_\perp)\,\delta\delta K_{[2]}
      + \tfrac12(\chi_\parallel'-\chi_\perp')(\delta K_{[1]})^2.$$

    For activations without corners: ReLU and its relatives are not analytic in the angle; use `angle_flow`.

    **Arguments:**

    - `K_00`, `delta_K_1`, `deltadelta_K_2`: the first layer; `first_layer_components` makes them from inputs.

    Examples:
        >>> fw.critical.perturbed_pair_flow("tanh", 1.0, 0.1, 0.1, depth=3, C_b=0.0, C_W=1.0).K_00.round(6).tolist()
        [1.0, 0.394294, 0.23645]
    """
    sigma = as_activation(activation)
    check_no_corner(sigma)
    first = PerturbedPair(
        jnp.asarray(as_number(K_00, "K_00", low=sys.float_info.min), float),
        jnp.asarray(as_number(delta_K_1, "delta_K_1"), float),
        jnp.asarray(as_number(deltadelta_K_2, "deltadelta_K_2", low=0.0), float),
        jnp.zeros(()),
    )
    hyperparameters = as_number(C_b, "C_b", low=0.0), as_number(C_W, "C_W", low=0.0)
    flow = _flow(sigma, first, equal_layers(as_count(depth, "depth"), *hyperparameters))
    check_layers(sigma, flow.K_00, jax.tree.leaves(flow), "K_00, C_b, C_W")
    return flow
