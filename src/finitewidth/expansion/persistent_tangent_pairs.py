r"""The tangent kernel of residual networks for any number of inputs, to order $1/n$.

Pairs of samples are a vector index. Metric and tangent kernel follow what all neurons share, the fluctuations $(f, p)$ of
$\frac1n\sum_j(\sigma\sigma, \sigma'\sigma')$, through the Jacobian of the map at infinite width:

$$\begin{pmatrix}\mathcal G\\\mathcal H\end{pmatrix}' = \mathcal J\begin{pmatrix}\mathcal G\\\mathcal H\end{pmatrix}
  + \mathcal N\begin{pmatrix}f\\p\end{pmatrix},\quad
  \mathcal J = \begin{pmatrix}\gamma^2 + C_W\Gamma & 0\\ \lambda_W\Gamma + C_W\Theta\Pi & \chi_\perp\end{pmatrix},\quad
  \mathcal N = \begin{pmatrix}C_W & 0\\ \lambda_W & C_W\Theta\end{pmatrix},$$

$\Gamma = \partial\langle\sigma\sigma\rangle/\partial K$, $\Pi = \partial\langle\sigma'\sigma'\rangle/\partial K$,
$\chi_\perp = C_W\langle\sigma'\sigma'\rangle + \gamma^2$. Neurons persist, so fluctuations of different depths are correlated; with
$\Sigma$ the covariance of $(\mathcal G, \mathcal H)$ and $E_s$ what depth $s$ has become, $E_\ell = \mathcal N$, $E_s' = \mathcal JE_s$,

$$\Sigma' = \mathcal J\Sigma\mathcal J^{\mathsf T} + \mathcal NC_{\ell\ell}\mathcal N^{\mathsf T} + X + X^{\mathsf T},\qquad
  X = \mathcal J\sum_{s<\ell}E_sC_{s\ell}\,\mathcal N^{\mathsf T},\qquad C_{st} = \mathrm{Cov}[(f, p)_s, (f, p)_t] .$$

$A = \Sigma_{\mathcal{HH}}$, and to $\Sigma_{\mathcal{GG}}$ and $\Sigma_{\mathcal{GH}}$ comes what a neuron makes of what it sees, for
$V$ and $D$: $\sum_s\gamma^{2(\ell-s)}E_s\langle(f, p)(zz - K)\rangle_s$.

**What two neurons share.** $\widehat H_{ij}$ goes on as $J\widehat HJ^{\mathsf T}$ with $J = W\sigma' + \gamma$; beside it a function of
$z_i$ is carried on, times $\gamma$, or met by weights, which leave $\sigma_\alpha\sigma'_3$. With
$S_{13}[\phi_1] = (\gamma^2 + C_W\langle\sigma'_1\sigma'_3\rangle)\phi_1 + C_W\langle\sigma_1\sigma''_3\rangle\phi_3$ and coefficients
$\mathcal A_\ell = C_W$, $\mathcal A'_s = S\mathcal A_s$ of $(\sigma_\alpha\sigma'_3)_s$, $e_\ell = C_W$, $e'_s = \chi_{\perp,13}e_s$ of
$(\sigma'_1\sigma'_3)_s$, $m_{st} = \gamma^{|t-s|}$,

$$F_{1324} = c_{1324} + \sum_s\mathcal A_sm_{s\ell}\Theta^{(s)}_{34}\langle(\sigma_\alpha\sigma'_3)_sz_{2;\ell}\rangle
  + (13\leftrightarrow24),$$

$$c_{1324} =
  \sum_{s,t}\mathcal A_s\mathcal A_tm_{st}\Theta^{(\min)}_{34}\langle(\sigma_\alpha\sigma'_3)_s(\sigma_\beta\sigma'_4)_t\rangle,$$

and $B$ likewise with $e$, $m^2$, $\Theta_{12}\Theta_{34}$ and slopes.

**The mean.** $H^{\{1\}\prime} = \lambda_Wm[f] + C_W(\Theta\,m[p] + R) + \chi_\perp H^{\{1\}}$, where $m$ corrects averages as for
$G^{\{1\}}$, and $R = n\,\mathrm{Cov}(p(z_i), \widehat H_{ii})$ is

$$R_{12} = \Pi\,\Sigma_{\mathcal{GH}} + \mathrm{Cov}(p_{12}, \mathcal H_{12})
  + \langle\partial_\gamma\partial_\delta p_{12}\rangle c_{\gamma1\delta2}
  + \sum_{s,i}m_{s\ell}\Theta^{(s)}_{12}\mathcal A_s\langle(\sigma_\alpha\sigma'_i)_s\,\partial_\delta p_{12;\ell}\rangle .$$

Without skips all of this is PDLT (8.63)-(8.97).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._compile import compiled_in_haste
from ..activations import Activation
from ..gaussian.pairs import PairRule
from ..gaussian.products import ProductRule
from ..kernels.pairs import PairIndex
from ..networks import ResidualLayer
from .kernel_derivatives import local_block, push_vector
from .persistent import own_share, remembered
from .sources import four_point_averages
from .tangent import PairAverages, Sources, TangentState, pair_averages, value_times_curvature, with_slopes_curved
from .two_depths_tangent import BetweenDepths, between_depths


class OfLayers(NamedTuple):
    """What infinite width knows of each layer that feeds another."""

    K: Float[Array, "T P"]
    theta: Float[Array, "T P"]
    pairs: PairAverages
    sources: Sources


class Shared(NamedTuple):
    """What is carried from layer to layer; the first axis of `E`, `A`, `e`, `memory` is the depth where it began."""

    E: Float[Array, "T 2*P 2*P"]
    Sigma: Float[Array, "2*P 2*P"]
    A: Float[Array, "T N N N"]
    r"""$\mathcal A_s$, axes $13\alpha$."""
    e: Float[Array, "T P"]
    memory: Float[Array, " T"]
    c: Float[Array, "N N N N"]
    """The first sum of $F$, in the order 1324, and that of $B$."""
    c_slopes: Float[Array, "N N N N"]
    G1: Float[Array, " P"]
    H1: Float[Array, " P"]


def infinite_width(
    activation: Activation,
    layers: ResidualLayer,
    first: tuple[Float[Array, " P"], Float[Array, " P"]],
    pairs: PairIndex,
    rules: tuple[PairRule, ProductRule],
) -> tuple[tuple[Float[Array, "L P"], Float[Array, "L P"]], OfLayers]:
    """Kernel and tangent kernel of all layers, and averages over the neurons of those that feed another."""

    def step(state: tuple[Array, Array], layer: ResidualLayer) -> tuple[tuple[Array, Array], OfLayers]:
        K, theta = state
        averages = pair_averages(activation, K, pairs, rules[0])
        sources = Sources(*four_point_averages(activation, K, pairs, rules[1], slopes=(0, 2, 4)))
        new = layer.kernel(averages.values, K), layer.tangent_kernel(averages.values, averages.slopes, theta)
        return new, OfLayers(K, theta, averages, sources)

    last, of = jax.lax.scan(step, first, layers)
    K, theta = (jnp.concatenate([each, end[None]]) for each, end in zip((of.K, of.theta), last, strict=True))
    return (K, theta), of


def _of_every_two(
    activation: Activation, of: OfLayers, memory: Float[Array, "T T"], pairs: PairIndex, rule: ProductRule
) -> BetweenDepths:
    """Of every pair of depths, late before early along the first two axes; zero unless the early one is earlier."""
    count, size = of.K.shape
    averages = jnp.concatenate([of.pairs.values, of.pairs.slopes], axis=1)
    entries = jnp.eye(size, dtype=of.K.dtype)

    def slopes(first: Array) -> Array:
        return push_vector(first, entries, pairs).T

    late = jnp.concatenate([jax.vmap(slopes)(each) for each in (of.pairs.d_values, of.pairs.d_slopes)], axis=-1)

    def one(depths: tuple[Array, Array]) -> BetweenDepths:
        s, t = depths
        both = averages[s], averages[t]
        return between_depths(activation, of.K[s], of.K[t], memory[s, t], both, late[t], pairs, rule)

    early_index, late_index = np.triu_indices(count, k=1)
    if not len(early_index):  # no two depths: shapes, for the scan
        shapes = jax.eval_shape(one, (jnp.asarray(0), jnp.asarray(0)))
        return jax.tree.map(lambda leaf: jnp.zeros((count, count, *leaf.shape), leaf.dtype), shapes)
    found = jax.lax.map(one, (jnp.asarray(early_index), jnp.asarray(late_index)))
    return jax.tree.map(
        lambda leaf: jnp.zeros((count, count, *leaf.shape[1:]), leaf.dtype).at[late_index, early_index].set(leaf), found
    )


def _jacobian(
    layer: ResidualLayer, here: OfLayers, pairs: PairIndex
) -> tuple[Float[Array, "both both"], Float[Array, "both both"]]:
    r"""$\mathcal J$ and $\mathcal N$."""
    size = len(here.K)
    one, zero = jnp.eye(size, dtype=here.K.dtype), jnp.zeros((size, size), here.K.dtype)
    gamma, pi = (push_vector(first, one, pairs) for first in (here.pairs.d_values, here.pairs.d_slopes))
    weighted = layer.C_W * here.theta
    across = layer.lambda_W * gamma + weighted[:, None] * pi
    jacobian = jnp.block(
        [[layer.skip**2 * one + layer.C_W * gamma, zero], [across, jnp.diag(layer.perpendicular(here.pairs.slopes))]]
    )
    return jacobian, jnp.block([[layer.C_W * one, zero], [layer.lambda_W * one, jnp.diag(weighted)]])


def _own_covariance(here: OfLayers) -> Float[Array, "both both"]:
    r"""$C_{\ell\ell}$."""
    averages = jnp.concatenate([here.pairs.values, here.pairs.slopes])
    moments = jnp.block([[here.sources.values, here.sources.mixed], [here.sources.mixed.T, here.sources.slopes]])
    return moments - averages[:, None] * averages


def _own(here: OfLayers, pairs: PairIndex) -> Float[Array, "both P"]:
    r"""$\langle(f, p)(zz - K)\rangle$."""
    share = own_share(here.K, pairs)
    return jnp.concatenate([push_vector(each, share, pairs) for each in (here.pairs.d_values, here.pairs.d_slopes)])


def _other_way(tensor: Float[Array, "N N N N"]) -> Float[Array, "N N N N"]:
    r"""$13\leftrightarrow24$."""
    return jnp.transpose(tensor, (2, 3, 0, 1))


def iterate(
    activation: Activation,
    layers: ResidualLayer,
    first: tuple[Float[Array, " P"], Float[Array, " P"]],
    pairs: PairIndex,
    rules: tuple[PairRule, ProductRule],
) -> TangentState:
    """Every layer from the first, stacked, as for an MLP."""
    (K, theta), of = infinite_width(activation, layers, first, pairs, rules)
    between = _of_every_two(activation, of, remembered(layers.skip), pairs, rules[1])
    (count, size), N = of.K.shape, len(pairs.of)
    depth = jnp.arange(count)
    own = jax.vmap(lambda here: _own(here, pairs))(of)
    Theta, kernel, p = pairs.unpack(of.theta), pairs.unpack(of.K), pairs.unpack(of.pairs.slopes)
    q = jax.vmap(lambda averages: value_times_curvature(averages, pairs))(of.pairs)
    # <(sigma_alpha sigma'_3) z_2>, axes alpha 3 2, but for what is remembered
    with_z = jnp.einsum("tba,tac->tacb", kernel, p) + jnp.einsum("tbc,tac->tacb", kernel, q)

    def step(state: Shared, xs: tuple) -> tuple[Shared, tuple[Array, ...]]:
        number, layer, here, q_here, pair = xs
        C_W, began = layer.C_W, depth == number
        jacobian, noise = _jacobian(layer, here, pairs)
        reached = jnp.einsum("tij,tjk->ik", state.E, pair.covariance)
        crossed = jacobian @ reached @ noise.T
        Sigma = jacobian @ state.Sigma @ jacobian.T + noise @ _own_covariance(here) @ noise.T + crossed + crossed.T
        perpendicular = pairs.unpack(layer.perpendicular(here.pairs.slopes))

        def left(tensor: Array) -> Array:
            """$S$, on the first two axes."""
            rest = (...,) + (None,) * (tensor.ndim - 2)
            return perpendicular[rest] * tensor + C_W * q_here[rest] * jnp.einsum("cc...->c...", tensor)

        met = jnp.einsum("t,tcd,taci,ticbd->acbd", state.memory, Theta, state.A, pair.crossed)
        source = jnp.einsum("abcd,cd->acbd", pairs.unpack_twice(here.sources.mixed), pairs.unpack(here.theta))
        met = C_W * left(met)
        c = left(_other_way(left(_other_way(state.c)))) + C_W**2 * source + met + _other_way(met)

        both_slopes = pair.covariance[:, size:, size:] + of.pairs.slopes[:, :, None] * here.pairs.slopes
        weights = state.memory[:, None] ** 2 * state.e
        met = _two_thetas(Theta, weights, pairs) * pairs.unpack_twice(both_slopes)
        met = C_W * perpendicular[:, :, None, None] * jnp.sum(met, axis=0)
        now = pairs.unpack(here.theta)
        source = jnp.einsum("abcd,ab,cd->acbd", pairs.unpack_twice(here.sources.slopes), now, now)
        c_slopes = jnp.einsum("ac,bd,acbd->acbd", perpendicular, perpendicular, state.c_slopes)
        c_slopes += C_W**2 * source + met + _other_way(met)

        G1, H1 = _means(state, layer, here, reached, pair, (of.theta, pairs))
        new = Shared(
            E=jnp.where(began[:, None, None], noise, jacobian @ state.E),
            Sigma=Sigma,
            A=jnp.where(began[:, None, None, None], C_W * jnp.eye(N)[:, None, :], jax.vmap(left)(state.A)),
            e=jnp.where(began[:, None], C_W, layer.perpendicular(here.pairs.slopes) * state.e),
            memory=layer.skip * jnp.where(began, 1.0, state.memory),
            c=c,
            c_slopes=c_slopes,
            G1=G1,
            H1=H1,
        )
        return new, tuple(layer.inverse_width * each for each in seen(new))

    def seen(new: Shared) -> tuple[Array, ...]:
        """v, g1, h1, d, a, b, f of the layer reached, a neuron's own share included."""
        remembered_twice = new.memory**2
        share = jnp.einsum("t,tij,tjk->ik", remembered_twice, new.E, own)
        v = new.Sigma[:size, :size] + share[:size] + share[:size].T
        d = new.Sigma[:size, size:] + share[size:].T
        beside = jnp.einsum("t,tcd,taci,ticb->acbd", remembered_twice, Theta, new.A, with_z)
        f = new.c + beside + _other_way(beside)
        beside = jnp.sum(_two_thetas(Theta, remembered_twice[:, None] * new.e * of.pairs.slopes, pairs), axis=0)
        b = new.c_slopes + beside + _other_way(beside)
        return v, new.G1, new.H1, d, new.Sigma[size:, size:], b, f

    dtype = of.K.dtype
    tensor, vector, matrix = jnp.zeros((N,) * 4, dtype), jnp.zeros(size, dtype), jnp.zeros((2 * size, 2 * size), dtype)
    many = jnp.zeros(count, dtype)
    start = Shared(
        E=many[:, None, None] + matrix,
        Sigma=matrix,
        A=many[:, None, None, None] + tensor[0],
        e=many[:, None] + vector,
        memory=many,
        c=tensor,
        c_slopes=tensor,
        G1=vector,
        H1=vector,
    )
    later = jax.lax.scan(step, start, (depth, layers, of, q, between))[1]
    v, g1, h1, d, a, b, f = (jnp.concatenate([jnp.zeros_like(each[:1]), each]) for each in later)
    return TangentState(K, v, g1, theta, h1, d, a, b, f)


def _two_thetas(
    Theta: Float[Array, "T N N"], weights: Float[Array, "T P"], pairs: PairIndex
) -> Float[Array, "T N N N N"]:
    r"""Weights of the pair 13 times $\Theta_{12}\Theta_{34}$, in the order 1324."""
    return jnp.einsum("tac,tab,tcd->tacbd", pairs.unpack(weights), Theta, Theta)


def _means(
    state: Shared,
    layer: ResidualLayer,
    here: OfLayers,
    reached: Float[Array, "both both"],
    pair: BetweenDepths,
    known: tuple[Float[Array, "T P"], PairIndex],
) -> tuple[Float[Array, " P"], Float[Array, " P"]]:
    r"""$G^{\{1\}}$ and $H^{\{1\}}$ of the new layer."""
    theta, pairs = known
    size, averages = len(here.K), here.pairs
    Sigma, through = local_block(state.Sigma[:size, :size], pairs), state.E[:, :size, :size]
    with_late = jnp.einsum("tem,temp->p", through, pair.slope)

    def corrected(first: Array, second: Array, met: Array) -> Array:
        return push_vector(first, state.G1, pairs) + jnp.einsum("pst,pst->p", second, Sigma) / 2 + met

    values = corrected(averages.d_values, averages.dd_values, with_late[:size])
    slopes = corrected(averages.d_slopes, averages.dd_slopes, with_late[size:])
    across = state.Sigma[:size, size:][pairs.local, np.arange(size)[:, None]]
    R = jnp.einsum("ps,ps->p", averages.d_slopes, across) + jnp.diagonal(reached[size:, size:])
    R += with_slopes_curved(state.c, averages.d_slopes, pairs)
    for side, sample in enumerate((pairs.a, pairs.b)):
        met = state.A[:, :, sample, :]
        R += jnp.einsum("t,tp,tdpi,tidp->p", state.memory, theta, met, pair.curved[:, :, side])
    G1 = layer.skip**2 * state.G1 + layer.C_W * values
    H1 = layer.lambda_W * values + layer.C_W * (here.theta * slopes + R)
    return G1, H1 + layer.perpendicular(averages.slopes) * state.H1


compiled_pairs = compiled_in_haste(static_argnums=(0, 3))(iterate)
