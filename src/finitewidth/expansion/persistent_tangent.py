r"""The tangent kernel of residual networks, to order $1/n$: here for one input, in few averages.

With $f = \sigma^2$, $p = \sigma'^2$, $q = \sigma\sigma'$ at every depth of a neuron's path, and
$\chi_\perp = C_W\langle p\rangle + \gamma^2$,

$$\Theta' = \lambda_b + \lambda_W\langle f\rangle + \chi_\perp\Theta .$$

**What all neurons share.** Averages over neurons fluctuate as sums over paths; metric and tangent kernel follow them through coefficients
of $f_s$ and $p_s$: $\mathcal G = \sum_sA_sf_s$ and $\mathcal H = \sum_s(a_sf_s + b_sp_s)$ with
$a'_s = \chi_\perp a_s + (\lambda_Wg' + C_W\Theta\langle p\rangle')A_s$, $a'_\ell = \lambda_W$, $b'_s = \chi_\perp b_s$,
$b'_\ell = C_W\Theta$. So
$A = \mathrm{Var}\,\mathcal H$ and $D = \mathrm{Cov}(\mathcal G, \mathcal H) + \mathrm{Cov}(z_\ell^2, \mathcal H)$.

**What two neurons share.** $\widehat H_{ij}$ goes on as $J\widehat HJ^{\mathsf T}$ with $J = W\sigma' + \gamma$: a function of
$z^{(\ell+1)}_i$ beside it is
either carried on, times $\gamma$, or met by weights. With $m_{st} = \gamma^{t-s}$ and $e_s = C_W\prod\chi_\perp$ that adds up to

$$F = \sum_{r,t}A_rA_tm_{rt}\Theta_{\min}\langle q_rq_t\rangle + 2\sum_rA_rm_{r\ell}\Theta_r\langle q_rz_\ell\rangle,\qquad
  B = \sum_{r,t}e_re_tm_{rt}^2\Theta_{\min}^2\langle p_rp_t\rangle + 2\sum_re_rm_{r\ell}^2\Theta_r^2\langle p_r\rangle .$$

**The mean.** $H^{\{1\}\prime} = \lambda_Wm[f] + C_W(\Theta\,m[p] + \langle p\rangle H^{\{1\}} + R) + \gamma^2H^{\{1\}}$,
where $m[\psi]$ corrects $\langle\psi\rangle$ and $R = n\,\mathrm{Cov}(p(z_i), \widehat H_{ii})$ has a part through $\mathcal H$
and one through the neuron's own weights, $\langle p''\rangle c + 2\sum_rA_rm_{r\ell}\Theta_r\langle q_rp'_\ell\rangle$ with $c$ the first
sum of $F$.
Without skips all of this is PDLT (8.63)-(8.97). `persistent_tangent_pairs.py` has it for several inputs.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array, at_hand
from .._compile import compiled_in_haste
from .._errors import DomainError
from .._validation import is_concrete
from ..activations import Activation
from ..gaussian.accuracy import VALUES_AND_SLOPES, pair_rule as choose_pair_rule, product_rule as choose_product_rule
from ..gaussian.gram_vectors import coincident_pairs
from ..gaussian.pairs import mixed_moment, square_averages
from ..gaussian.powers import power
from ..gaussian.products import ProductRule
from ..kernels.pairs import pair_index
from ..kernels.tangent_map import check_has_tangent_kernel
from ..networks import ResidualLayer, ResidualMLP
from ..results import Metric, Tangent
from .persistent import refuse_kinks
from .persistent_tangent_pairs import compiled_pairs
from .recursion import in_units_of_width, metric_group
from .sources import four_point_averages
from .tangent import tangent_groups

_PRODUCTS = (*VALUES_AND_SLOPES, (0, 2), (2, 2), (1, 3))  # the second derivatives of f and p
_BATCH = 64  # pairs of depths at a time


class PathAverages(NamedTuple):
    """Averages over a neuron's path: of single depths, and of an early (first axis) and a late one."""

    K: Float[Array, " T"]
    g: Float[Array, "3 T"]
    r"""$\langle f\rangle$ and its first two derivatives in $K$."""
    s: Float[Array, "3 T"]
    r"""$\langle p\rangle$ and its first two derivatives."""
    ff: Float[Array, "T T"]
    fp: Float[Array, "T T"]
    r"""$\mathrm{Cov}(f_s, p_t)$ for all $s$, $t$; `ff` and `pp` likewise."""
    pp: Float[Array, "T T"]
    qq: Float[Array, "T T"]
    r"""$\langle q_sq_t\rangle$."""
    q_dp: Float[Array, "T T"]
    r"""$\langle q_sp'_t\rangle$ for $s < t$, zero elsewhere."""
    f_ddf: Float[Array, "T T"]
    r"""$\mathrm{Cov}(f_s, f''_t)$ for $s < t$."""
    f_ddp: Float[Array, "T T"]


def path_averages(
    activation: Activation, K: Float[Array, " T"], memory: Float[Array, "T T"], rule: ProductRule
) -> PathAverages:
    r"""All averages; `memory` is $\gamma^{t-s}$ for $s \le t$."""
    f, p = power(activation, 2), power(activation, 0, 2)
    g, s = jnp.stack(square_averages(activation, K, 2)), jnp.stack(square_averages(activation, K, 2, slope=1))
    pairs = pair_index(1)

    def at_one_depth(K: Array) -> Array:
        return jnp.stack(four_point_averages(activation, K[None], pairs, rule, slopes=(0, 2, 4)))[:, 0, 0]

    same = jax.lax.map(at_one_depth, K).T
    early, late = np.triu_indices(len(K), k=1)

    def at_two(depths: tuple[Array, Array]) -> Array:
        s, t = depths
        at = K[s], memory[s, t] * K[s], K[t]
        wanted = (
            (f, 0, f, 0),
            (f, 0, p, 0),
            (p, 0, f, 0),
            (p, 0, p, 0),
            (f, 1, f, 1),
            (f, 1, p, 1),
            (f, 0, f, 2),
            (f, 0, p, 2),
        )
        return jnp.stack([mixed_moment(one, i, other, j, rule, *at) for one, i, other, j in wanted])

    found = jnp.zeros((8, len(K), len(K)), K.dtype)
    if len(early):
        values = jax.lax.map(at_two, (jnp.asarray(early), jnp.asarray(late)), batch_size=_BATCH)
        found = found.at[:, early, late].set(values.T)
    ff, fp, pf, pp, dfdf, dfdp, fddf, fddp = found

    def both(upper: Array, lower: Array, diagonal: Array) -> Array:
        return upper + lower.T + jnp.diag(diagonal)

    later = jnp.triu(jnp.ones_like(ff), k=1)
    return PathAverages(
        K,
        g,
        s,
        both(ff, ff, same[0]) - g[0][:, None] * g[0],
        both(fp, pf, same[1]) - g[0][:, None] * s[0],
        both(pp, pp, same[2]) - s[0][:, None] * s[0],
        both(dfdf, dfdf, 4 * same[1]) / 4,
        dfdp / 2,
        (fddf - g[0][:, None] * 2 * g[1]) * later,
        (fddp - g[0][:, None] * 2 * s[1]) * later,
    )


class TangentOfOneInput(NamedTuple):
    """Of every layer, in units of the width."""

    K: Float[Array, " L"]
    V: Float[Array, " L"]
    G1: Float[Array, " L"]
    Theta: Float[Array, " L"]
    H1: Float[Array, " L"]
    A: Float[Array, " L"]
    B: Float[Array, " L"]
    D: Float[Array, " L"]
    F: Float[Array, " L"]


def iterate(
    activation: Activation, layers: ResidualLayer, K1: Float[Array, ""], theta1: Float[Array, ""], rule: ProductRule
) -> TangentOfOneInput:
    """Every layer from the first."""

    def step(state: tuple[Array, Array], layer: ResidualLayer) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        K, theta = state
        g, s = square_averages(activation, K, 0)[0], square_averages(activation, K, 0, slope=1)[0]
        return (layer.kernel(g, K), layer.tangent_kernel(g, s, theta)), state

    last, before = jax.lax.scan(step, (K1, theta1), layers)
    K, theta = (jnp.append(one, end) for one, end in zip(before, last, strict=True))
    memory = through_layers(layers.skip, layers.skip)
    on = path_averages(activation, K[:-1], memory[:-1].T, rule)
    C_W, lambda_W, Theta = layers.C_W, layers.lambda_W, theta[:-1]
    parallel, perpendicular = C_W * on.g[1] + layers.skip**2, layers.perpendicular(on.s[0])

    # First axis: the layer reached, 1..L; second: the depth where it began, among those that feed another.
    A, e = through_layers(parallel, C_W), through_layers(perpendicular, C_W)
    b = through_layers(perpendicular, C_W * Theta)
    a = through_layers(perpendicular, lambda_W, (lambda_W * on.g[1] + C_W * Theta * on.s[1])[:, None] * A[:-1])

    M = jnp.einsum("ls,st,lt->l", A, on.ff, A)
    of_H = a @ on.ff + b @ on.fp.T  # covariance of H with every f
    GH = jnp.sum(of_H * A, axis=1)
    variance = jnp.sum(of_H * a, axis=1) + jnp.sum((a @ on.fp + b @ on.pp) * b, axis=1)
    own_f, own_p = (memory**2 * (2 * on.K**2 * slope) for slope in (on.g[1], on.s[1]))  # Cov(z^2, .)
    V = M + 2 * jnp.sum(own_f * A, axis=1)
    D = GH + jnp.sum(own_f * a + own_p * b, axis=1)

    between = memory[:-1] + memory[:-1].T + jnp.eye(len(C_W))  # gamma^|t-s|
    earlier = jnp.minimum(*np.indices(between.shape))
    core = jnp.einsum("ls,st,lt->l", A, between * Theta[earlier] * on.qq, A)
    F = core + 2 * jnp.sum(Theta * A * memory**2 * on.K * on.g[1], axis=1)
    moments = on.pp + on.s[0][:, None] * on.s[0]
    B = jnp.einsum("ls,st,lt->l", e, between**2 * Theta[earlier] ** 2 * moments, e)
    B += 2 * jnp.sum(Theta**2 * e * memory**2 * on.s[0], axis=1)

    with_f = jnp.sum(A[:-1] * on.f_ddf.T, axis=1) / 2, jnp.sum(A[:-1] * on.f_ddp.T, axis=1) / 2
    H_with_p = jnp.sum(jnp.tril(a[:-1] * on.fp.T + b[:-1] * on.pp, k=-1), axis=1)
    own_weights = 2 * jnp.sum(memory[:-1] * Theta * A[:-1] * on.q_dp.T, axis=1)
    R = on.s[1] * (GH + 2 * core)[:-1] + H_with_p + own_weights

    def mean_step(state: tuple[Array, Array], xs: tuple) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        G1, H1 = state
        layer, (_, dg, ddg), (s, ds, dds), M, (of_f, of_p), Theta, R = xs
        corrected_f = dg * G1 + ddg * M / 2 + of_f
        corrected_p = ds * G1 + dds * M / 2 + of_p
        new_G1 = layer.C_W * corrected_f + layer.skip**2 * G1
        new_H1 = layer.lambda_W * corrected_f + layer.C_W * (Theta * corrected_p + R) + layer.perpendicular(s) * H1
        return (new_G1, new_H1), (new_G1, new_H1)

    zero = jnp.zeros((), K.dtype)
    xs = (layers, tuple(on.g), tuple(on.s), M[:-1], with_f, Theta, R)
    G1, H1 = (jnp.append(0.0, each) for each in jax.lax.scan(mean_step, (zero, zero), xs)[1])
    return TangentOfOneInput(K, V, G1, theta, H1, variance, B, D, F)


def through_layers(
    factor: Float[Array, " T"], start: Float[Array, " T"], fed: Float[Array, "T T"] | None = None
) -> Float[Array, "L T"]:
    """Coefficients in every layer reached, by the depth at which they began: there `start`, then a `factor` for each layer, and
    whatever each layer is `fed`. Zero where nothing has begun."""
    count = len(factor)
    begins = jnp.eye(count, dtype=factor.dtype)
    fed = jnp.zeros_like(begins) if fed is None else fed

    def step(state: Array, xs: tuple[Array, Array, Array, Array]) -> tuple[Array, Array]:
        here, factor, begin, fed = xs
        new = factor * state + fed + here * begin
        return new, new

    later = jax.lax.scan(step, jnp.zeros_like(start), (begins, factor, start, fed))[1]
    return jnp.concatenate([jnp.zeros_like(later[:1]), later])


_compiled = compiled_in_haste(static_argnums=(0,))(iterate)


def persistent_tangent_flow(
    net: ResidualMLP, K1: Float[Array, "N N"], overlap: Float[Array, "N N"], largest: float
) -> tuple[Float[Array, "L N N"], Metric[Array], Tangent[Array]]:
    """The kernel and the groups `metric` and `tangent` of a residual network, for kernels of at most the `largest` variance."""
    sigma, pairs = net.activation, pair_index(len(K1))
    check_has_tangent_kernel(sigma)
    refuse_kinks(net, len(K1), 2, two_depths=False)
    if len(K1) > 1:
        rules = choose_pair_rule(sigma, largest, derivatives=5), choose_product_rule(sigma, largest, _PRODUCTS)
        first = pairs.pack(K1), pairs.pack(net.first_tangent_kernel(overlap))
        found = tangent_groups(net, pairs, at_hand(compiled_pairs(sigma, net.layers[1:], first, pairs, rules)))
        refuse_coincident(K1, found[2].H1)
        return found
    rule = choose_product_rule(sigma, largest, _PRODUCTS)
    theta1 = net.first_tangent_kernel(overlap)
    found = at_hand(_compiled(sigma, net.layers[1:], K1[0, 0], theta1[0, 0], rule))
    V, G1, H1, A, B, D, F = (
        each * net.layers.inverse_width for each in (found.V, found.G1, found.H1, found.A, found.B, found.D, found.F)
    )
    Theta, h1 = found.Theta[:, None, None], H1[:, None, None]
    four = (-1, 1, 1, 1, 1)
    tangent = Tangent(
        Theta=Theta,
        H1=in_units_of_width(net, h1),
        H=Theta + h1,
        A=in_units_of_width(net, A.reshape(four)),
        B=in_units_of_width(net, B.reshape(four)),
        D=in_units_of_width(net, D.reshape(four)),
        F=in_units_of_width(net, F.reshape(four)),
        layers=tuple(range(1, net.depth + 1)),
    )
    return *metric_group(net, pairs, found.K[:, None], V[:, None, None], G1[:, None]), tangent


def refuse_coincident(K1: Float[Array, "N N"], H1: Float[Array, "L N N"]) -> None:
    r"""`DomainError` where $H^{\{1\}}$ is not a number because samples coincide: slopes that jump have averages
    $\langle\sigma'\sigma'\rangle$ without a derivative there."""
    if not (is_concrete(K1) and is_concrete(H1)) or not np.isnan(np.asarray(H1)).any():
        return
    coincident = np.asarray(coincident_pairs(jnp.asarray(K1)))
    if np.triu(coincident, k=1).any():
        got = "samples that are equal or opposite up to a factor, to a residual network whose slopes jump"
        raise DomainError(
            "x", got, "one sample of each direction: the tangent kernel's H1 between them is not known with skips"
        )
