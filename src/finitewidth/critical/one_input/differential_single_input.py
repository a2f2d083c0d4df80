"""The differentials of the tangent kernel of one input, layer by layer, to a hundred thousand layers."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float

from ..._arrays import Array
from ..._compile import compiled_in_haste
from ..._entry import entry
from ..._errors import UnknownNameError
from ..._ratio import ratio_or_zero
from ..._result import Result
from ..._validation import is_concrete
from ...activations import Activation, ScaleInvariant, as_activation
from ...gaussian.line import line_rule
from ...kernels.differentials import check_has_differential, check_has_second_differential
from ...kernels.every_layer import every_layer
from ...networks import Layer
from .averages import Numbers
from .equal_layers import as_one_input
from .tangent_averages import tangent_averages
from .tangent_single_input import TangentSource, TangentState, first_layer, next_layer, tangent_source
from .trust import check_layers

Through = Literal["dntk", "ddntk"]


class _Ratios(NamedTuple):
    P: Numbers
    Q: Numbers
    R: Numbers | None = None
    S: Numbers | None = None
    T: Numbers | None = None
    U: Numbers | None = None


class DifferentialRatios(Result, _Ratios):
    r"""The dimensionless couplings, without their common $1/n$: $P/\Theta^2$ and $Q/\Theta^2$, PDLT (11.62); $RK/\Theta^3$, $SK/\Theta^3$,
    $TK/\Theta^3$ and $UK/\Theta^3$, PDLT (∞.21), (∞.22). At criticality all but the last grow in proportion to depth."""


class DifferentialSingleInputFlow(Result, eqx.Module):
    r"""Layer $\ell$ at index $\ell-1$, for hidden layers of equal width; tensors of the book with all samples equal."""

    axes = ("layer",)

    K: Float[Array, " L"]
    Theta: Float[Array, " L"]
    F: Float[Array, " L"]
    B: Float[Array, " L"]
    P: Float[Array, " L"]
    Q: Float[Array, " L"]
    R: Float[Array, " L"] | None = None
    S: Float[Array, " L"] | None = None
    T: Float[Array, " L"] | None = None
    U: Float[Array, " L"] | None = None

    @property
    def ratios(self) -> DifferentialRatios:
        """The dimensionless couplings of every layer, to be divided by the width; zero where the tangent kernel is."""
        first = (ratio_or_zero(each, self.Theta**2) for each in (self.P, self.Q))
        second = (self.R, self.S, self.T, self.U)
        scaled = (None if each is None else ratio_or_zero(each * self.K, self.Theta**3) for each in second)
        return DifferentialRatios(*first, *scaled)


class Bends(NamedTuple):
    r"""Averages with second and third derivatives: $\langle\sigma\sigma''\rangle$ and $\langle\sigma\sigma'^2\sigma''\rangle$, then
    $\langle\sigma''^2\rangle$, $\langle\sigma'\sigma'''\rangle$, $\langle\sigma'^2\sigma''^2\rangle$,
    $\langle\sigma'^3\sigma'''\rangle$."""

    value: Array
    bent: Array
    squared: Array
    third_slope: Array
    twice_bent: Array
    third: Array


class _State(NamedTuple):
    tangent: TangentState
    P: Array
    Q: Array
    second: tuple[Array, Array, Array, Array] | None


def bends(activation: Activation, K: Float[Array, "*K"], dg: Array, s: Array, ds: Array) -> Bends:
    r"""By quadrature, but for $\langle\sigma\sigma''\rangle = g' - \langle\sigma'^2\rangle$ and $\langle\sigma'\sigma'''\rangle =
    \langle\sigma'^2\rangle' - \langle\sigma''^2\rangle$, PDLT (5.53). Half-lines have no bends but at zero, where these averages vanish,
    PDLT (11.67), (11.70)."""
    if isinstance(activation, ScaleInvariant):
        return Bends(*[jnp.zeros_like(K)] * 6)
    z, weights = line_rule(K, activation.kinks)
    value, slope, bend, third = (activation.derivative(order)(z) for order in range(4))
    terms = value * slope**2 * bend, bend**2, slope**2 * bend**2, slope**3 * third
    bent, squared, twice_bent, of_third = (jnp.sum(weights * each, axis=-1) for each in terms)
    return Bends(dg - s, bent, squared, ds - squared, twice_bent, of_third)


def _next(state: _State, at: TangentSource, b: Bends, layer: Layer) -> _State:
    r"""One layer: PDLT (11.55), (11.56), with $C_W\langle\sigma''\sigma\rangle + \chi_\perp = \chi_\parallel$, and PDLT (∞.14)-(∞.17):

    $$P' = C_W^2\langle\sigma''\sigma'^2\sigma\rangle\Theta^2 + \chi_\perp(\chi_\parallel - \chi_\perp)B + \chi_\perp\chi_\parallel P,$$

    $$Q' = C_W^2\langle\sigma''\sigma'^2\sigma\rangle\Theta^2 + \tfrac{\lambda_W}{C_W}F' + 2h\chi_\parallel\Theta F
      + \chi_\perp\chi_\parallel Q,$$

    and with $g = \lambda_W\langle\sigma''\sigma\rangle + C_W\Theta\langle\sigma'''\sigma'\rangle$,
    $k = \lambda_W\langle\sigma'\sigma'\rangle + C_W\Theta\langle\sigma''\sigma''\rangle$,
    $u = C_W^2\langle\sigma''^2\sigma'^2\rangle\Theta^3$,

    $$R' = \chi_\perp^2R + \lambda_WC_W\langle\sigma''\sigma'^2\sigma\rangle\Theta^2 + C_W^2\langle\sigma'''\sigma'^3\rangle\Theta^3
      + \chi_\perp[g(B+P) + kP],\quad S' = \chi_\perp^2S + C_W\lambda_W\langle\sigma'^4\rangle\Theta^2 + u + \chi_\perp kB,$$

    $$T' = \chi_\perp^2T + 2C_W\lambda_W\langle\sigma''\sigma'^2\sigma\rangle\Theta^2 + u + \lambda_W^2\langle\sigma'^2\sigma^2\rangle\Theta
      + (g+k)^2F + 2\chi_\perp(g+k)Q,\qquad U' = \chi_\perp^2U + u.$$
    """
    tangent, C, rate = state.tangent, layer.C_W, layer.lambda_W
    parallel, perp, theta, B, F = at.chi_parallel, at.chi_perp, tangent.Theta, tangent.B, tangent.F
    new = next_layer(tangent, at, layer)
    source = C**2 * b.bent * theta**2
    P = source + perp * (parallel - perp) * B + perp * parallel * state.P
    Q = source + rate / C * new.F + 2 * at.h * parallel * theta * F + perp * parallel * state.Q
    if state.second is None:
        return _State(new, P, Q, None)
    R, S, T, U = state.second
    g, k = rate * b.value + C * theta * b.third_slope, rate * perp / C + C * theta * b.squared
    curved = C**2 * b.twice_bent * theta**3
    mixed, slopes = at.mixed / C**2, at.slopes / C**2
    second = (
        perp**2 * R
        + rate * C * b.bent * theta**2
        + C**2 * b.third * theta**3
        + perp * (g * (B + state.P) + k * state.P),
        perp**2 * S + C * rate * slopes * theta**2 + curved + perp * k * B,
        perp**2 * T
        + 2 * C * rate * b.bent * theta**2
        + curved
        + rate**2 * mixed * theta
        + (g + k) ** 2 * F
        + 2 * perp * (g + k) * state.Q,
        perp**2 * U + curved,
    )
    return _State(new, P, Q, second)


@compiled_in_haste(light=5000, static_argnums=(0, 3))
def _flow(activation: Activation, K1: Float[Array, ""], layers: Layer, to_second: bool) -> _State:
    zero = jnp.zeros_like(K1)
    start = _State(first_layer(K1, layers[0]), zero, zero, (zero, zero, zero, zero) if to_second else None)

    def step(state: _State, layer: Layer) -> _State:
        averages = tangent_averages(activation, state.tangent.K)
        single = averages.single
        of_bends = bends(activation, state.tangent.K, single.dg, single.s, single.ds)
        return _next(state, tangent_source(averages, layer.C_W), of_bends, layer)

    return every_layer(step, start, layers[1:])


@entry()
def differential_single_input_flow(
    activation: str | Activation | Callable[[Array], Array],
    K1: float,
    depth: int,
    C_b: float,
    C_W: float,
    lambda_b: Float[Array, " L"] | float | Any = 1.0,
    lambda_W: Float[Array, " L"] | float | Any = 1.0,
    *,
    through: Through = "ddntk",
) -> DifferentialSingleInputFlow:
    r"""$P$, $Q$ and $R$, $S$, $T$, $U$ of one input at every layer, PDLT (11.55)-(11.60), (∞.14)-(∞.17).

    A scan over depth at the cost of a few averages a layer, for hidden layers of equal width and one pair of $C_b, C_W$;
    `flow(net, x, through="ddntk")` does many inputs, unequal widths and layers that differ.

    **Arguments:** as for `tangent_single_input_flow`, and `through`: `"dntk"` stops at $P$ and $Q$, which is as far as activations with
    kinks go, PDLT (∞.39)-(∞.44).

    Examples:
        >>> flow = fw.critical.differential_single_input_flow("relu", 1.0, depth=3, C_b=0.0, C_W=2.0, through="dntk")
        >>> flow.Q.tolist()
        [0.0, 1.5, 6.0]
    """
    if not isinstance(through, str) or through not in get_args(Through):
        raise UnknownNameError("through", through, get_args(Through))
    sigma, to_second = as_activation(activation), through == "ddntk"
    (check_has_second_differential if to_second else check_has_differential)(sigma)
    states = _flow(sigma, *as_one_input(K1, depth, C_b, C_W, lambda_b, lambda_W), to_second)
    tangent = states.tangent
    of_second = (None,) * 4 if states.second is None else states.second
    flow = DifferentialSingleInputFlow(tangent.K, tangent.Theta, tangent.F, tangent.B, states.P, states.Q, *of_second)
    if is_concrete(flow.K):
        check_layers(sigma, flow.K, jax.tree.leaves(flow), "K1, C_b, C_W")
    return flow
