r"""One order beyond the book: the six-point vertex $u$ and the second corrections $v_2$, $g_2$ of vertex and metric.

Write the metric of a layer as $\hat G$, its mean as $K + g_1 + g_2$, its covariance as $v_1 + v_2$ and its third cumulant as
$u$ (orders $n^{-1}, n^{-2}$; $n^{-1}, n^{-2}$; $n^{-2}$). A layer maps it to an average of $n$ independent terms of mean
$f(\hat G)$, covariance $c(\hat G)$ and third cumulant $c_3(\hat G)$; the law of total cumulance, expanded about $K$, with
subscripts for derivatives and sums over repeated pair indices, is

$$\begin{aligned}
u'_{ABC} &= \tfrac{c_3}{n^2} + \tfrac1n[c^{AB}_i f^C_j v_{ij} + \text{2 cyc.}] + f^A_if^B_jf^C_k u_{ijk}
            + [f^A_{ij}f^B_kf^C_l v_{ik}v_{jl} + \text{2 cyc.}]\\
g_2' &= f_i g_{2,i} + \tfrac12 f_{ij}(v_{2,ij} + g_{1,i}g_{1,j}) + \tfrac16 f_{ijk}(u_{ijk} + 3v_{ij}g_{1,k})
            + \tfrac18 f_{ijkl}v_{ij}v_{kl}\\
v_{2,AB}' &= \tfrac1n[c_ig_{1,i} + \tfrac12c_{ij}v_{ij}] + f^A_if^B_jv_{2,ij} + \{f^A_{ik}g_{1,k}f^B_jv_{ij}
            + \tfrac12f^A_{ij}f^B_ku_{ijk} + \tfrac12f^A_{ijk}f^B_lv_{ij}v_{kl} + (A\leftrightarrow B)\}
            + \tfrac12f^A_{ij}f^B_{kl}v_{ik}v_{jl} .
\end{aligned}$$

At the second layer only $c_3$ remains: PDLT (4.59).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array, at_hand
from .._compile import compiled_in_haste
from .._errors import DomainError
from ..activations import Activation, ScaleInvariant
from ..gaussian.accuracy import CURVATURE_OF_VALUES, pair_rule as choose_pair_rule, product_rule as choose_product_rule
from ..gaussian.pairs import PairRule
from ..gaussian.products import ProductRule
from ..kernels.every_layer import every_layer
from ..kernels.pairs import PairIndex, pair_index
from ..networks import MLP, Layer
from ..results import Metric, NextOrder
from .kernel_derivatives import average_and_derivatives, local_block, push_matrix, push_vector
from .multisets import multiset_averages, multisets
from .recursion import in_units_of_width, metric_group
from .scale_invariant_next_order import scale_invariant_cumulants
from .sources import vertex_source

_MOST_SAMPLES = 3  # the second derivatives of four-point averages make longer programs than compile quickly


class Cumulants(NamedTuple):
    """The first three cumulants of the metric, each to the order that the others need."""

    K: Float[Array, " P"]
    v1: Float[Array, "P P"]
    g1: Float[Array, " P"]
    u: Float[Array, "P P P"]
    v2: Float[Array, "P P"]
    g2: Float[Array, " P"]


def _cyclic(tensor: Float[Array, "P P P"]) -> Float[Array, "P P P"]:
    """The sum over which index stands first, of a tensor symmetric in the other two."""
    return tensor + jnp.moveaxis(tensor, 0, 1) + jnp.moveaxis(tensor, 0, 2)


def third_cumulant(
    activation: Activation,
    K: Float[Array, " P"],
    second: Float[Array, " P"],
    covariance: Float[Array, "P P"],
    pairs: PairIndex,
    rule: ProductRule,
) -> Float[Array, "P P P"]:
    r"""The joint cumulant of $\sigma_1\sigma_2$, $\sigma_3\sigma_4$, $\sigma_5\sigma_6$ under one Gaussian neuron, PDLT (4.59)."""
    six = multisets(len(pairs.of), ((6, 0),))
    a, b = pairs.a, pairs.b
    indices = np.broadcast_arrays(a[:, None, None], b[:, None, None], a[:, None], b[:, None], a, b)
    places = six.positions((6, 0), np.stack(indices, axis=-1))
    whole = multiset_averages(activation, pairs.unpack(K), six, rule)[places]
    mean_times_covariance = second[:, None, None] * covariance
    return whole - _cyclic(mean_times_covariance) - jnp.einsum("a,b,c->abc", second, second, second)


def layer_step(
    activation: Activation,
    state: Cumulants,
    layer: Layer,
    pairs: PairIndex,
    pair_rule: PairRule,
    product_rule: ProductRule,
) -> Cumulants:
    """One layer, with the parameters of the new one."""
    K, v, g1, u, v2, g2 = state
    C_W, inverse_width = layer.C_W, layer.inverse_width
    average, *slopes = average_and_derivatives(activation, K, pairs, pair_rule, order=4)
    f1, f2, f3, f4 = (C_W * slope for slope in slopes)

    def source(kernel: Array) -> Array:
        second = average_and_derivatives(activation, kernel, pairs, pair_rule, order=0)[0]
        return vertex_source(activation, kernel, second, pairs, product_rule)

    def source_slope(kernel: Array, direction: Array) -> Array:
        return jax.jvp(source, (kernel,), (direction,))[1]

    c = source(K)
    c3 = third_cumulant(activation, K, average, c, pairs, product_rule)

    W = push_vector(f1, v, pairs)  # W[A, i] = f^A_j v_ji
    W_local = W.T[pairs.local]  # [A, s, B]: v f^B at the positions that A depends on
    v_local, g1_local = local_block(v, pairs), g1[pairs.local]
    u_pushed = jnp.moveaxis(push_vector(f1, u, pairs), 0, 2)  # [i, j, B] = u_ijk f^B_k
    u_local = u_pushed[pairs.local[:, :, None], pairs.local[:, None, :]]

    # Third cumulant.
    source_along = jax.vmap(lambda direction: source_slope(K, direction))(W)  # [C, A, B]
    u_through = push_vector(f1, jnp.moveaxis(push_vector(f1, u_pushed, pairs), 0, 1), pairs)
    bent = jnp.einsum("ast,asb,atc->abc", f2, W_local, W_local)
    from_source = C_W**3 * inverse_width**2 * c3 + C_W**2 * inverse_width * _cyclic(source_along)
    new_u = from_source + u_through + _cyclic(bent)

    # Mean.
    u_corner = u[pairs.local[:, :, None, None], pairs.local[:, None, :, None], pairs.local[:, None, None, :]]
    new_g2 = (
        push_vector(f1, g2, pairs)
        + jnp.einsum("ast,ast->a", f2, local_block(v2, pairs) + g1_local[:, :, None] * g1_local[:, None, :]) / 2
        + jnp.einsum("astr,astr->a", f3, u_corner + 3 * v_local[..., None] * g1_local[:, None, None, :]) / 6
        + jnp.einsum("astrq,ast,arq->a", f4, v_local, v_local) / 8
    )

    # Covariance.
    values, vectors = jnp.linalg.eigh(v)
    source_curvature = jax.vmap(lambda e: jax.jvp(lambda k: source_slope(k, e), (K,), (e,))[1])(vectors.T)
    shifted_source = source_slope(K, g1) + jnp.tensordot(values, source_curvature, axes=(0, 0)) / 2
    mixed = (
        jnp.einsum("ast,at,asb->ab", f2, g1_local, W_local)
        + jnp.einsum("ast,astb->ab", f2, u_local) / 2
        + jnp.einsum("astr,ast,arb->ab", f3, v_local, W_local) / 2
    )
    v_between = v[pairs.local[:, None, :, None], pairs.local[None, :, None, :]]  # [A, B, s, s']
    twice_bent = jnp.einsum("ast,bpq,absp,abtq->ab", f2, f2, v_between, v_between) / 2
    new_v2 = C_W**2 * inverse_width * shifted_source + push_matrix(f1, v2, pairs) + mixed + mixed.T + twice_bent

    new_v = layer.covariance(c, push_matrix(slopes[0], v, pairs))
    new_g1 = push_vector(f1, g1, pairs) + jnp.einsum("ast,ast->a", f2, v_local) / 2
    return Cumulants(layer.kernel(average), new_v, new_g1, new_u, new_v2, new_g2)


def iterate(
    activation: Activation,
    layers: Layer,
    K1: Float[Array, " P"],
    pairs: PairIndex,
    pair_rule: PairRule,
    product_rule: ProductRule,
) -> Cumulants:
    """The cumulants of every layer, stacked, from the first kernel, whose fluctuations vanish."""
    P = len(pairs.a)
    shapes = ((P, P), (P,), (P, P, P), (P, P), (P,))
    start = Cumulants(K1, *(jnp.zeros(shape, K1.dtype) for shape in shapes))

    def step(state: Cumulants, layer: Layer) -> Cumulants:
        return layer_step(activation, state, layer, pairs, pair_rule, product_rule)

    return every_layer(step, start, layers)


_compiled = compiled_in_haste(static_argnums=(0, 3))(iterate)


def next_order_flow(
    net: MLP, K1: Float[Array, "N N"], largest: float
) -> tuple[Float[Array, "L N N"], Metric[Array], NextOrder[Array]]:
    """The kernel and the groups `metric` and `next_order`, for kernels of at most the `largest` variance."""
    sigma, pairs = net.activation, pair_index(len(K1))
    if isinstance(sigma, ScaleInvariant) and sigma.kinks and len(K1) == 1:
        return _of_one_input(net, sigma, K1[0, 0])
    if sigma.kinks:
        got = f"{sigma.name}, whose second derivatives of the vertex are distributions"
        raise DomainError(
            "activation", got, "a smooth activation for next_order=True, or one input of a piecewise linear one"
        )
    if len(K1) > _MOST_SAMPLES:
        raise DomainError("x", f"{len(K1)} samples", f"at most {_MOST_SAMPLES} for next_order=True")
    rules = choose_pair_rule(sigma, largest, derivatives=8), choose_product_rule(sigma, largest, CURVATURE_OF_VALUES)
    K, v1, g1, u, v2, g2 = at_hand(_compiled(sigma, net.layers[1:], pairs.pack(K1), pairs, *rules))
    return _groups(net, pairs, K, v1, g1, u, v2, g2)


def _of_one_input(
    net: MLP, activation: ScaleInvariant, K1: Float[Array, ""]
) -> tuple[Float[Array, "L N N"], Metric[Array], NextOrder[Array]]:
    """Of an activation with a kink at zero, PDLT (ε.20)-(ε.22)."""
    K, v1, v2, u = (each[:, None] for each in at_hand(scale_invariant_cumulants(activation, net.layers[1:], K1)))
    matrix = v1[..., None], v2[..., None]
    return _groups(net, pair_index(1), K, matrix[0], 0 * K, u[..., None, None], matrix[1], 0 * K)


def _groups(
    net: MLP, pairs: PairIndex, K: Array, v1: Array, g1: Array, u: Array, v2: Array, g2: Array
) -> tuple[Float[Array, "L N N"], Metric[Array], NextOrder[Array]]:
    following = NextOrder(
        six_point=in_units_of_width(net, u, power=2),
        V1=in_units_of_width(net, pairs.unpack_twice(v2), power=2),
        G2=in_units_of_width(net, pairs.unpack(g2), power=2),
    )
    return *metric_group(net, pairs, K, v1, g1), following
