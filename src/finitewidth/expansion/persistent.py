r"""Vertex and mean metric of residual networks, complete at order $1/n$.

With a skip connection a neuron survives from layer to layer, and with it all joint cumulants of two neurons,
$\kappa(z_j, z_j, z_i, \dots, z_i)$, are of order $1/n$. PDLT (B.24)-(B.26) keep only those with two factors of each; here is what all of
them add up to. Pairs $(\alpha\beta)$ of samples are a vector index. At infinite width neurons are independent Gaussian paths, whose
averages $\frac1n\sum_j\sigma_\alpha\sigma_\beta$ fluctuate with

$$C_{st} = \mathrm{Cov}[\sigma\sigma(z^{(s)}), \sigma\sigma(z^{(t)})],\qquad
  \mathrm{Cov}(z^{(s)}, z^{(t)}) = \gamma^{|t-s|}K^{(\min)} .$$

A fluctuation at depth $s$ reaches depth $\ell$ through $A^{(s+1)}_s = C_W$, $A^{(\ell+1)}_s = TA^{(\ell)}_s$ with $T = \gamma^2 + C_WJ$,
$J = \partial\langle\sigma\sigma\rangle/\partial K$, PDLT (B.15), and a neuron also makes part of what it sees:

$$V^{(\ell)} = M + \Omega + \Omega^{\mathsf T},\qquad M = \sum_{s,t<\ell}A_sC_{st}A_t^{\mathsf T},\qquad
  \Omega = \sum_{s<\ell}\gamma^{2(\ell-s)}A_s\langle\sigma\sigma\,(zz - K)\rangle_{K^{(s)}},$$

$$G^{\{1\}(\ell+1)} = T\,G^{\{1\}} + C_W\Big[\tfrac12\,\partial^2\langle\sigma\sigma\rangle : M
  + \sum_{t<\ell}\mathrm{Cov}\big[\partial_K(\sigma\sigma)(z^{(\ell)}),\ A_t\,\sigma\sigma(z^{(t)})\big]\Big],$$

where $\partial_K$ stands for $\frac12\partial_\gamma\partial_\delta$. Without skips this is the recursion of `recursion.py`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._compile import compiled_in_haste
from .._errors import DomainError
from ..activations import Activation
from ..gaussian.pairs import PairRule
from ..gaussian.products import ProductRule
from ..kernels.pairs import PairIndex
from ..networks import ResidualLayer, ResidualMLP
from ..results import Metric
from .kernel_derivatives import average_and_derivatives, local_block, push_vector
from .recursion import metric_flow
from .sources import vertex_source
from .two_depths import covariance_and_slope


class OfLayers(NamedTuple):
    """What infinite width knows of each layer that feeds another, $T = L - 1$ of them."""

    K: Float[Array, "T P"]
    average: Float[Array, "T P"]
    first: Float[Array, "T P 3"]
    """Derivatives of the average in the kernel, over `pairs.local`."""
    second: Float[Array, "T P 3 3"]
    source: Float[Array, "T P P"]
    """$C_{ss}$."""


class Fluctuations(NamedTuple):
    """What is carried from layer to layer."""

    A: Float[Array, "T P P"]
    """By depth of the fluctuation: from pairs of samples there to pairs of samples here."""
    memory: Float[Array, " T"]
    r"""$\gamma^{\ell-s}$."""
    M: Float[Array, "P P"]
    G1: Float[Array, " P"]


def infinite_width(
    activation: Activation,
    layers: ResidualLayer,
    K1: Float[Array, " P"],
    pairs: PairIndex,
    pair_rule: PairRule,
    product_rule: ProductRule,
) -> tuple[Float[Array, "L P"], OfLayers]:
    """The kernels of all layers, and averages over the neurons of those that feed another."""

    def step(K: Array, layer: ResidualLayer) -> tuple[Array, OfLayers]:
        average, first, second = average_and_derivatives(activation, K, pairs, pair_rule, order=2)
        source = vertex_source(activation, K, average, pairs, product_rule)
        return layer.kernel(average, K), OfLayers(K, average, first, second, source)

    last, of = jax.lax.scan(step, K1, layers)
    return jnp.concatenate([of.K, last[None]]), of


def remembered(skip: Float[Array, " T"]) -> Float[Array, "T T"]:
    r"""$\gamma^{t-s}$ of the layers that feed another, for $s \le t$ and zero elsewhere; `skip` are those of the layers after them."""
    depth = jnp.arange(len(skip))

    def step(memory: Array, xs: tuple[Array, Array]) -> tuple[Array, Array]:
        number, factor = xs
        memory = jnp.where(depth == number, 1.0, memory * factor)
        return memory, memory

    into = jnp.concatenate([jnp.ones(1, skip.dtype), skip[:-1]])
    return jax.lax.scan(step, jnp.zeros_like(skip), (depth, into))[1].T


def between_depths(
    activation: Activation, of: OfLayers, memory: Float[Array, "T T"], pairs: PairIndex, rule: ProductRule
) -> tuple[Float[Array, "T T P P"], Float[Array, "T T P P P"]]:
    """`covariance_and_slope` of every pair of depths, early before late; zero elsewhere."""
    count, size = of.K.shape
    early, late = np.triu_indices(count, k=1)
    covariances = jnp.zeros((count, count, size, size), of.K.dtype)
    slopes = jnp.zeros((count, count, size, size, size), of.K.dtype)
    if not len(early):
        return covariances, slopes
    entries = jnp.eye(size, dtype=of.K.dtype)
    late_slopes = jax.vmap(lambda first: push_vector(first, entries, pairs).T)(of.first)

    def one(depths: tuple[Array, Array]) -> tuple[Array, Array]:
        s, t = depths
        averages = of.average[s], of.average[t]
        return covariance_and_slope(activation, of.K[s], of.K[t], memory[s, t], averages, late_slopes[t], pairs, rule)

    found = jax.lax.map(one, (jnp.asarray(early), jnp.asarray(late)))
    return covariances.at[early, late].set(found[0]), slopes.at[early, late].set(found[1])


def iterate(
    activation: Activation,
    layers: ResidualLayer,
    K1: Float[Array, " P"],
    pairs: PairIndex,
    pair_rule: PairRule,
    product_rule: ProductRule,
) -> tuple[Float[Array, "L P"], Float[Array, "L P P"], Float[Array, "L P"]]:
    r"""$K$, $V/n$ and $G^{\{1\}}/n$ of every layer, from the first kernel."""
    K, of = infinite_width(activation, layers, K1, pairs, pair_rule, product_rule)
    covariances, slopes = between_depths(activation, of, remembered(layers.skip), pairs, product_rule)
    count, size = of.K.shape
    one = jnp.eye(size, dtype=K1.dtype)
    seen = jax.vmap(lambda first, K: push_vector(first, own_share(K, pairs), pairs))(of.first, of.K)

    def step(state: Fluctuations, xs: tuple) -> tuple[Fluctuations, tuple[Array, Array]]:
        number, here, layer, covariance, slope = xs

        def pushed(vector: Array) -> Array:
            return layer.skip**2 * vector + layer.C_W * push_vector(here.first, vector, pairs)

        crossed = layer.C_W * pushed(jnp.einsum("tem,tmp->ep", state.A, covariance))
        M = pushed(pushed(state.M).T).T + layer.C_W**2 * here.source + crossed + crossed.T
        curvature = jnp.einsum("pst,pst->p", here.second, local_block(state.M, pairs)) / 2
        curvature += jnp.einsum("tem,temp->p", state.A, slope)
        G1 = pushed(state.G1) + layer.C_W * curvature
        arrived = jnp.where((jnp.arange(count) == number)[:, None, None], layer.C_W * one, jax.vmap(pushed)(state.A))
        memory = layer.skip * jnp.where(jnp.arange(count) == number, 1.0, state.memory)
        Omega = jnp.einsum("t,tpm,tmq->pq", memory**2, arrived, seen)
        return Fluctuations(arrived, memory, M, G1), (
            layer.inverse_width * (M + Omega + Omega.T),
            layer.inverse_width * G1,
        )

    zeros = jnp.zeros((count, size, size), K1.dtype)
    start = Fluctuations(zeros, jnp.zeros(count, K1.dtype), zeros[0], zeros[0, 0])
    # Scanned over the late depth: its first axis.
    xs = (jnp.arange(count), of, layers, jnp.swapaxes(covariances, 0, 1), jnp.swapaxes(slopes, 0, 1))
    v, g1 = jax.lax.scan(step, start, xs)[1]
    return K, jnp.concatenate([zeros[:1], v]), jnp.concatenate([zeros[:1, 0], g1])


def own_share(K: Float[Array, " P"], pairs: PairIndex) -> Float[Array, "P P"]:
    r"""$K_{\alpha\gamma}K_{\beta\delta} + K_{\alpha\delta}K_{\beta\gamma}$: with it as a change of the kernel,
    $J$ gives $\langle\sigma\sigma(z_\gamma z_\delta - K_{\gamma\delta})\rangle$."""
    full = pairs.unpack(K)
    a, b = pairs.a, pairs.b
    return full[a][:, a] * full[b][:, b] + full[a][:, b] * full[b][:, a]


_compiled = compiled_in_haste(static_argnums=(0, 3))(iterate)


def persistent_metric_flow(
    net: ResidualMLP, K1: Float[Array, "N N"], largest: float
) -> tuple[Float[Array, "L N N"], Metric[Array]]:
    """The kernel and the group `metric` of a residual network, for kernels of at most the `largest` variance."""
    refuse_kinks(net, len(K1), 1, two_depths=True)
    return metric_flow(net, K1, largest, _compiled)


def refuse_kinks(net: ResidualMLP, inputs: int, continuous: int, two_depths: bool) -> None:
    r"""`DomainError` for several inputs of which a neuron at two depths makes products of three or four variables: second derivatives
    of them are averaged as functions, which takes derivatives of the activation that are continuous up to so many, or its closed form."""
    sigma = net.activation
    if inputs == 1 or sigma.has_closed_product or (two_depths and net.depth < 3):
        return
    jumping = next((order for order in range(continuous + 1) if sigma.has_jump(order)), None)
    if jumping is not None:
        which = ("which jumps", "whose slope jumps", "whose second derivative jumps")[jumping]
        want = "one input, ReLU or another pair of half-lines, or an activation that is smoother; `simulate` takes any"
        raise DomainError("net", f"{inputs} inputs to a residual network of {sigma.name!r}, {which}", want)
