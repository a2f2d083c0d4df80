r"""The joint flow of metric and neural tangent kernel, to order $1/n$.

The infinite-width map $(K, \Theta) \mapsto (K', \Theta')$,

$$K' = C_b + C_W\langle\sigma_1\sigma_2\rangle,\qquad
  \Theta' = \lambda_b + \lambda_W\langle\sigma_1\sigma_2\rangle + C_W\langle\sigma'_1\sigma'_2\rangle\,\Theta
  \quad\text{PDLT (8.63)},$$

has the Jacobian $\mathcal J = \begin{pmatrix}C_W\Gamma & 0\\ T & C_W\,\mathrm{diag}(p)\end{pmatrix}$ with
$\Gamma = D\langle\sigma\sigma\rangle$, $p = \langle\sigma'\sigma'\rangle$ and $T = \lambda_W\Gamma + C_W\Theta\,Dp$.
The covariance of the pair $(\widehat G, \widehat H)$, whose blocks are $v = V/n$, $d = D/n$ and $a = A/n$, obeys

$$\Sigma' = \mathcal J\,\Sigma\,\mathcal J^{\mathsf T} + \tfrac1{n_\ell}\mathrm{Cov}_K[(C_W\sigma\sigma,\ \hat\Omega)],\qquad
  \hat\Omega_{12} = \lambda_W\sigma_1\sigma_2 + C_W\Theta_{12}\,\sigma'_1\sigma'_2\quad\text{PDLT (8.74)},$$

which is PDLT (4.119), (8.77) and (8.97) without their inverse kernels. $b = B/n$ and $f = F/n$, the correlations of
$\widehat H_{ij}$ between different neurons, run by themselves, PDLT (8.89) and PDLT (8.79), and feed the mean $h_1 = H^{\{1\}}/n$.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array, at_hand
from .._compile import compiled_in_haste
from ..activations import Activation
from ..gaussian.accuracy import VALUES_AND_SLOPES, pair_rule as choose_pair_rule, product_rule as choose_product_rule
from ..gaussian.pairs import PairRule
from ..gaussian.products import ProductRule
from ..kernels.every_layer import every_layer
from ..kernels.pairs import PairIndex, pair_index
from ..kernels.tangent_map import check_has_tangent_kernel
from ..networks import MLP, Layer, LayeredNetwork
from ..results import Metric, Tangent
from .kernel_derivatives import averages_of_values_and_slopes, local_block, push_matrix, push_vector
from .recursion import in_units_of_width, metric_group
from .sources import four_point_averages


class TangentState(NamedTuple):
    """Kernel, tangent kernel and their fluctuations, absorbed widths: on pairs, but for the tensors of `b` and `f`."""

    K: Float[Array, " P"]
    v: Float[Array, "P P"]
    g1: Float[Array, " P"]
    theta: Float[Array, " P"]
    h1: Float[Array, " P"]
    d: Float[Array, "P P"]
    """Covariance of metric (first pair) and tangent kernel (second pair)."""
    a: Float[Array, "P P"]
    b: Float[Array, "N N N N"]
    """In the book's order of samples, 1324, as is `f`."""
    f: Float[Array, "N N N N"]


class PairAverages(NamedTuple):
    r"""Averages over one neuron's pair of preactivations, on pairs: $\langle\sigma\sigma\rangle$ and
    $p = \langle\sigma'\sigma'\rangle$ with their first two derivatives in the kernel."""

    values: Float[Array, " P"]
    d_values: Float[Array, "P 3"]
    dd_values: Float[Array, "P 3 3"]
    slopes: Float[Array, " P"]
    d_slopes: Float[Array, "P 3"]
    dd_slopes: Float[Array, "P 3 3"]


class Sources(NamedTuple):
    r"""Averages of four factors of one neuron, on pairs of pairs."""

    values: Float[Array, "P P"]
    r"""$\langle\sigma_1\sigma_2\sigma_3\sigma_4\rangle$."""
    mixed: Float[Array, "P P"]
    r"""$\langle\sigma_1\sigma_2\sigma'_3\sigma'_4\rangle$."""
    slopes: Float[Array, "P P"]
    r"""$\langle\sigma'_1\sigma'_2\sigma'_3\sigma'_4\rangle$."""


def layer_step(
    activation: Activation,
    state: TangentState,
    layer: Layer,
    pairs: PairIndex,
    pair_rule: PairRule,
    product_rule: ProductRule,
) -> TangentState:
    """One layer, with the parameters of the new one."""
    averages = pair_averages(activation, state.K, pairs, pair_rule)
    sources = Sources(*four_point_averages(activation, state.K, pairs, product_rule, slopes=(0, 2, 4)))
    return passed_on(state, averages, sources, layer, pairs)


def pair_averages(activation: Activation, K: Float[Array, " P"], pairs: PairIndex, rule: PairRule) -> PairAverages:
    """All averages of pairs of preactivations that one layer needs."""
    of_values, of_slopes = averages_of_values_and_slopes(activation, K, pairs, rule, order=2)
    return PairAverages(*of_values, *of_slopes)


def passed_on(
    state: TangentState, averages: PairAverages, sources: Sources, layer: Layer, pairs: PairIndex
) -> TangentState:
    """What one layer makes of the state before it, given its averages over one neuron."""
    C_W, lambda_W, theta = layer.C_W, layer.lambda_W, state.theta
    v, d, a = _new_covariance(state, averages, sources, layer, pairs)
    b, f = _new_off_diagonal(state, averages, sources, layer, pairs)

    def shift(slope: Array, curvature: Array) -> Array:
        """The change of an average under the metric's own correction and fluctuation, PDLT (4.115)."""
        return push_vector(slope, state.g1, pairs) + _traced(curvature, local_block(state.v, pairs)) / 2

    shifted_values = shift(averages.d_values, averages.dd_values)
    shifted_slopes = shift(averages.d_slopes, averages.dd_slopes)
    h1 = (
        lambda_W * shifted_values
        + C_W * theta * shifted_slopes
        + C_W * averages.slopes * state.h1
        + C_W * _correlation_of_slopes_with_ntk(state, averages.d_slopes, pairs)
    )
    return TangentState(
        K=layer.kernel(averages.values),
        v=v,
        g1=C_W * shifted_values,
        theta=layer.tangent_kernel(averages.values, averages.slopes, theta),
        h1=h1,
        d=d,
        a=a,
        b=b,
        f=f,
    )


def _traced(curvature: Float[Array, "P 3 3"], block: Float[Array, "P 3 3"]) -> Float[Array, " P"]:
    return jnp.einsum("pst,pst->p", curvature, block)


def _new_covariance(
    state: TangentState, averages: PairAverages, sources: Sources, layer: Layer, pairs: PairIndex
) -> tuple[Array, Array, Array]:
    r"""The three blocks of $\mathcal J\Sigma\mathcal J^{\mathsf T} + \mathrm{Cov}/n$: PDLT (4.119), (8.77), (8.97)."""
    C_W, lambda_W, inverse_width = layer.C_W, layer.lambda_W, layer.inverse_width
    theta, gamma, p = state.theta, averages.d_values, averages.slopes
    values = sources.values - (averages.values[:, None] * averages.values)
    mixed = sources.mixed - (averages.values[:, None] * p)
    slopes = sources.slopes - (p[:, None] * p)

    weighted_mixed = C_W * mixed * theta  # Cov(sigma sigma, C Theta sigma' sigma')
    source_d = lambda_W * values + weighted_mixed
    source_a = lambda_W * (source_d + weighted_mixed.T) + C_W**2 * (theta[:, None] * theta) * slopes

    T = lambda_W * gamma + C_W * theta[:, None] * averages.d_slopes
    through_gamma, through_T = push_vector(gamma, state.v, pairs), push_vector(T, state.v, pairs)
    gain = C_W * p
    v = layer.covariance(values, push_matrix(gamma, state.v, pairs))
    d = C_W * (inverse_width * source_d + push_vector(T, through_gamma.T, pairs).T)
    d += C_W * push_vector(gamma, state.d, pairs) * gain
    crossed = push_vector(T, state.d, pairs) * gain
    a = inverse_width * source_a + push_vector(T, through_T.T, pairs).T + crossed + crossed.T
    return v, d, a + (gain[:, None] * gain) * state.a


def _new_off_diagonal(
    state: TangentState, averages: PairAverages, sources: Sources, layer: Layer, pairs: PairIndex
) -> tuple[Array, Array]:
    r"""$B/n$, PDLT (8.89), and $F/n$, PDLT (8.79), in the order 1324 of their samples."""
    theta, p = pairs.unpack(state.theta), pairs.unpack(averages.slopes)
    source_b = jnp.einsum("abcd,ab,cd->acbd", pairs.unpack_twice(sources.slopes), theta, theta)
    b = jnp.einsum("ac,bd,acbd->acbd", p, p, state.b)
    f = new_crossed(state, averages, sources, layer, pairs)
    return layer.covariance(source_b, b), layer.C_W**2 * f


def new_crossed(
    state: TangentState, averages: PairAverages, sources: Sources, layer: Layer, pairs: PairIndex
) -> Float[Array, "N N N N"]:
    r"""$F/(nC_W^2)$ of the new layer, PDLT (8.79), which is finite where $C_W = 0$."""
    theta, p, q = pairs.unpack(state.theta), pairs.unpack(averages.slopes), value_times_curvature(averages, pairs)
    source = jnp.einsum("abcd,cd->acbd", pairs.unpack_twice(sources.mixed), theta)
    return layer.inverse_width * source + slide_second(slide(state.f, p, q), p, q)


def slide(f: Float[Array, "N N N N"], p: Float[Array, "N N"], q: Float[Array, "N N"]) -> Float[Array, "N N N N"]:
    r"""$p_{13}F_{13\cdot\cdot} + q_{13}F_{33\cdot\cdot}$: Stein's lemma for the first preactivation."""
    return p[:, :, None, None] * f + q[:, :, None, None] * jnp.einsum("ccbd->cbd", f)


def slide_second(f: Float[Array, "N N N N"], p: Float[Array, "N N"], q: Float[Array, "N N"]) -> Float[Array, "N N N N"]:
    """The same for the second preactivation."""
    return jnp.transpose(slide(jnp.transpose(f, (2, 3, 0, 1)), p, q), (2, 3, 0, 1))


def value_times_curvature(averages: PairAverages, pairs: PairIndex) -> Float[Array, "N N"]:
    r"""$q_{13} = \langle\sigma_1\sigma_3''\rangle$, delta functions included; not symmetric."""
    own = averages.d_values[:, 1] - averages.slopes  # g'(K) = <sigma'^2 + sigma sigma''> for a pair of one sample
    same = pairs.a == pairs.b
    q = jnp.zeros(pairs.of.shape, own.dtype)
    q = q.at[pairs.b, pairs.a].set(2 * averages.d_values[:, 0])
    return q.at[pairs.a, pairs.b].set(jnp.where(same, own, 2 * averages.d_values[:, 2]))


def _correlation_of_slopes_with_ntk(
    state: TangentState, d_slopes: Float[Array, "P 3"], pairs: PairIndex
) -> Float[Array, " P"]:
    r"""$\sum_{\gamma\gamma'}\langle\partial_\gamma\partial_{\gamma'}(\sigma'_1\sigma'_2)\rangle
    [\tfrac12D_{\gamma\gamma'12} + F_{\gamma1\gamma'2}]$: PDLT (8.71) for the slopes of PDLT (8.59)."""
    pair = jnp.arange(len(pairs.a))[:, None]
    with_d = jnp.einsum("ps,ps->p", d_slopes, state.d[pairs.local, pair])
    return with_d + with_slopes_curved(state.f, d_slopes, pairs)


def with_slopes_curved(
    f: Float[Array, "N N N N"], d_slopes: Float[Array, "P 3"], pairs: PairIndex
) -> Float[Array, " P"]:
    r"""$\sum_{\gamma\gamma'}\langle\partial_\gamma\partial_{\gamma'}(\sigma'_1\sigma'_2)\rangle F_{\gamma1\gamma'2}$."""
    one, two = pairs.a, pairs.b
    both = f[one, one, two, two] + f[two, one, one, two]
    with_f = jnp.stack([2 * f[one, one, one, two], both, 2 * f[two, one, two, two]], axis=1)
    return jnp.einsum("ps,ps->p", d_slopes, with_f)


def first_state(K1: Float[Array, " P"], theta1: Float[Array, " P"], pairs: PairIndex) -> TangentState:
    """The first layer, whose kernels do not fluctuate, PDLT (9.17)."""
    P, N = len(pairs.a), len(pairs.of)
    matrix, vector, tensor = (jnp.zeros(shape, K1.dtype) for shape in ((P, P), (P,), (N,) * 4))
    return TangentState(K1, matrix, vector, theta1, vector, matrix, matrix, tensor, tensor)


def iterate(
    activation: Activation,
    layers: Layer,
    K1: Float[Array, " P"],
    theta1: Float[Array, " P"],
    pairs: PairIndex,
    pair_rule: PairRule,
    product_rule: ProductRule,
) -> TangentState:
    """Every layer, stacked."""

    def step(state: TangentState, layer: Layer) -> TangentState:
        return layer_step(activation, state, layer, pairs, pair_rule, product_rule)

    return every_layer(step, first_state(K1, theta1, pairs), layers)


_compiled = compiled_in_haste(static_argnums=(0, 4))(iterate)


def tangent_flow(
    net: MLP, K1: Float[Array, "N N"], overlap: Float[Array, "N N"], largest: float
) -> tuple[Float[Array, "L N N"], Metric[Array], Tangent[Array]]:
    """The kernel and the groups `metric` and `tangent`, for kernels of at most the `largest` variance."""
    sigma, pairs = net.activation, pair_index(len(K1))
    check_has_tangent_kernel(sigma)
    rules = choose_pair_rule(sigma, largest, derivatives=5), choose_product_rule(sigma, largest, VALUES_AND_SLOPES)
    first = pairs.pack(K1), pairs.pack(net.first_tangent_kernel(overlap))
    return tangent_groups(net, pairs, at_hand(_compiled(sigma, net.layers[1:], *first, pairs, *rules)))


def tangent_groups(
    net: LayeredNetwork, pairs: PairIndex, states: TangentState
) -> tuple[Float[Array, "L N N"], Metric[Array], Tangent[Array]]:
    """Kernel and groups with sample indices, in units of the width, from the states of all layers."""
    K, v, g1, theta, h1, d, a, b, f = states
    Theta, correction = pairs.unpack(theta), pairs.unpack(h1)
    tangent = Tangent(
        Theta=Theta,
        H1=in_units_of_width(net, correction),
        H=Theta + correction,
        A=in_units_of_width(net, pairs.unpack_twice(a)),
        B=in_units_of_width(net, b),
        D=in_units_of_width(net, pairs.unpack_twice(d)),
        F=in_units_of_width(net, f),
        layers=tuple(range(1, net.depth + 1)),
    )
    return *metric_group(net, pairs, K, v, g1), tangent
