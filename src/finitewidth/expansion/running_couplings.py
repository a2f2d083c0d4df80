r"""Couplings of the effective action of m neurons, and how they run with m.

$$S(z) = \tfrac12 g^{ab}\sum_i z_{ia}z_{ib} - \tfrac18 v^{(ab)(cd)}\sum_{ij}z_{ia}z_{ib}z_{jc}z_{jd}
  \quad\text{PDLT (4.44), PDLT (4.80)}$$

Because of the minus sign $e^{-S}$ cannot be normalised: the action is only ever used to first order in $v$.
`K`, `v`, `g1` are the width-absorbed kernel, metric covariance and metric shift of `nearly_gaussian`; `g` and
`v_raised` are couplings, with upper indices. `neurons` counts the neurons kept, whatever the layer's width.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError
from .._validation import as_count
from ..gaussian.nearly_gaussian import Metric, Vertex, as_neurons, as_symmetric, as_vertex
from ..gaussian.wick import as_invertible


@entry()
def running_metric(K: Metric | Any, v: Vertex | Any, g1: Metric | Any, neurons: int) -> Metric:
    r"""$g_{ab}$, the inverse of the quadratic coupling, for m neurons.

    $$g_{ab} = K_{ab} + g_{1,ab} - K^{cd}\big(\tfrac m2 v_{(ab)(cd)} + v_{(ac)(bd)}\big)\quad\text{PDLT (4.108)}$$

    For one sample $1/g = G - \tfrac{m+2}{2}V/(n_{\ell-1}G)$, PDLT (4.102).

    Examples:
        >>> K, v = [[2.0]], [[[[0.1]]]]
        >>> fw.expansion.running_metric(K, v, [[0.0]], neurons=1).tolist()
        [[1.925]]
    """
    metric = as_invertible(K, "K")
    vertex, shift = as_vertex(v, "v", metric), as_symmetric(g1, "g1", metric)
    inverse, m = jnp.linalg.inv(metric), as_count(neurons, "neurons")
    direct, exchange = jnp.einsum("abcd,cd->ab", vertex, inverse), jnp.einsum("acbd,cd->ab", vertex, inverse)
    return metric + shift - 0.5 * m * direct - exchange


@entry()
def quadratic_coupling(K: Metric | Any, v: Vertex | Any, g1: Metric | Any, neurons: int) -> Metric:
    r"""$g^{ab}$ for m neurons; at leading order the inverse kernel, PDLT (4.49), PDLT (4.81).

    $$g^{ab} = K^{ab} - K^{ac}K^{bd}g_{1,cd} + K_{cd}\big(\tfrac m2 v^{(ab)(cd)} + v^{(ac)(bd)}\big)
      \quad\text{PDLT (4.109)}$$

    Examples:
        >>> K, v = [[2.0]], [[[[0.1]]]]
        >>> fw.expansion.quadratic_coupling(K, v, [[0.0]], neurons=1).tolist()
        [[0.51875]]
    """
    metric = as_invertible(K, "K")
    inverse = jnp.linalg.inv(metric)
    return inverse - inverse @ (running_metric(metric, v, g1, neurons) - metric) @ inverse


@entry()
def quartic_coupling(K: Metric | Any, v: Vertex | Any) -> Vertex:
    r"""$v^{(ab)(cd)} = K^{aa'}K^{bb'}K^{cc'}K^{dd'}v_{(a'b')(c'd')}$, PDLT (4.50), PDLT (4.82)-(4.83), PDLT (4.103).

    Examples:
        >>> K, v = [[2.0]], [[[[0.1]]]]
        >>> fw.expansion.quartic_coupling(K, v).ravel().tolist()
        [0.00625]
    """
    metric = as_invertible(K, "K")
    return _with_every_index_moved(as_vertex(v, "v", metric), jnp.linalg.inv(metric))


@entry()
def metric_from_couplings(g: Metric | Any, v_raised: Vertex | Any, neurons: int) -> Metric:
    r"""The two-point function $G_{ab}$ of m neurons from their action, to first order in $v$.

    $$G_{ab} = g_{ab} + \tfrac12 v^{(cd)(ef)}\big(m\,g_{ac}g_{bd}g_{ef} + 2\,g_{ac}g_{be}g_{df}\big)
      \quad\text{PDLT (4.47), PDLT (4.107)}$$

    For one sample $G = 1/g + \tfrac{m+2}{2}v/g^3$, PDLT (4.101). Inverse of `quadratic_coupling` to this order.

    Examples:
        >>> g, v_raised = [[0.5]], [[[[0.01]]]]
        >>> fw.expansion.metric_from_couplings(g, v_raised, neurons=1).round(6).tolist()
        [[2.12]]
    """
    coupling = as_invertible(g, "g")
    quartic, m = as_vertex(v_raised, "v_raised", coupling), as_count(neurons, "neurons")
    lowered = jnp.linalg.inv(coupling)
    direct = jnp.einsum("cdef,ef->cd", quartic, lowered)
    exchange = jnp.einsum("cdef,df->ce", quartic, lowered)
    return lowered + lowered @ (0.5 * m * direct + exchange) @ lowered


@entry()
def vertex_from_couplings(g: Metric | Any, v_raised: Vertex | Any) -> Vertex:
    r"""$v_{(ab)(cd)}$ of the connected four-point function, the quartic coupling with its indices lowered.

    $$E[z_{i_1a_1}\cdots z_{i_4a_4}]_{\mathrm{conn}} = \delta_{i_1i_2}\delta_{i_3i_4}\,
      g_{a_1b_1}\cdots g_{a_4b_4}v^{(b_1b_2)(b_3b_4)} + \text{two more pairings}\quad\text{PDLT (4.48)}$$

    Examples:
        >>> g, v_raised = [[0.5]], [[[[0.01]]]]
        >>> fw.expansion.vertex_from_couplings(g, v_raised).ravel().tolist()
        [0.16]
    """
    coupling = as_invertible(g, "g")
    return _with_every_index_moved(as_vertex(v_raised, "v_raised", coupling), jnp.linalg.inv(coupling))


@entry()
def marginalise_neurons(g: Metric | Any, v_raised: Vertex | Any, neurons: int, keep: int) -> Metric:
    r"""The quadratic coupling after integrating out all but `keep` of the neurons; the quartic one does not run.

    $$g_{(m)}^{ab} = g_{(n)}^{ab} - \tfrac{n-m}{2}\,g_{cd}\,v^{(ab)(cd)}\quad\text{PDLT (4.97)-(4.100)}$$

    Examples:
        >>> g, v_raised = [[0.5]], [[[[0.01]]]]
        >>> fw.expansion.marginalise_neurons(g, v_raised, neurons=3, keep=1).tolist()
        [[0.48]]
    """
    coupling = as_invertible(g, "g")
    quartic = as_vertex(v_raised, "v_raised", coupling)
    n, m = as_count(neurons, "neurons"), as_count(keep, "keep")
    if m > n:
        raise DomainError("keep", m, f"at most the {n} neurons there are")
    return coupling - 0.5 * (n - m) * jnp.einsum("abcd,cd->ab", quartic, jnp.linalg.inv(coupling))


@entry()
def effective_action(
    z: Float[Array, "*batch m N"] | Any, g: Metric | Any, v_raised: Vertex | Any
) -> Float[Array, "*batch"]:
    r"""$S(z)$ of PDLT (4.44), PDLT (4.80) for the neurons in the rows of `z`.

    Examples:
        >>> g, v_raised = [[0.5]], [[[[0.01]]]]
        >>> float(fw.expansion.effective_action([[1.0]], g, v_raised))
        0.24875
    """
    coupling = as_invertible(g, "g")
    neurons, quartic = as_neurons(z, "z", coupling), as_vertex(v_raised, "v_raised", coupling)
    products = jnp.einsum("...ia,...ib->...ab", neurons, neurons)
    return 0.5 * jnp.einsum("ab,...ab->...", coupling, products) - 0.125 * jnp.einsum(
        "abcd,...ab,...cd->...", quartic, products, products
    )


def _with_every_index_moved(vertex: Vertex, metric: Metric) -> Vertex:
    return jnp.einsum("efgh,ea,fb,gc,hd->abcd", vertex, metric, metric, metric, metric, optimize="optimal")
