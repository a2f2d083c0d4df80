r"""Correlators of the tangent kernel with neural indices, assembled from the flow.

$\widehat{\Delta H}_{i_1i_2;\alpha_1\alpha_2} = \widehat H_{i_1i_2;\alpha_1\alpha_2} - \delta_{i_1i_2}H_{\alpha_1\alpha_2}$,
PDLT (8.58), is named by two sites $(i, \alpha)$, a neuron and a sample each. All results are of leading order in $1/n$.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._validation import as_count
from ..realised.observable import Observable, check_observable
from ..results import Flow, as_flow
from .correlators import Site, checked_sites
from .observables import gaussian_average, restricted


@entry()
def tangent_correlator(flow: Flow, layer: int, sites: Sequence[Site]) -> Float[Array, ""]:
    r"""$E[\widehat{\Delta H}_{i_1i_2;\alpha_1\alpha_2}\widehat{\Delta H}_{i_3i_4;\alpha_3\alpha_4}]$ for four sites, PDLT (8.82):

    $$\tfrac1{n_{\ell-1}}\big[\delta_{i_1i_2}\delta_{i_3i_4}A_{(12)(34)} + \delta_{i_1i_3}\delta_{i_2i_4}B_{1324}
      + \delta_{i_1i_4}\delta_{i_2i_3}B_{1423}\big].$$

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]], through="ntk")
        >>> round(float(fw.expansion.tangent_correlator(theory, 2, [(0, 0), (0, 0), (1, 0), (1, 0)])), 6)
        0.828125
    """
    index, points = checked_sites(flow, layer, sites, (4,))
    return _paired(points, flow.A[index], flow.B[index]) / flow.previous_widths[index]


@entry()
def tangent_preactivation_correlator(flow: Flow, layer: int, sites: Sequence[Site]) -> Float[Array, ""]:
    r"""$E[z_{i_1;\alpha_1}z_{i_2;\alpha_2}\widehat{\Delta H}_{i_3i_4;\alpha_3\alpha_4}]$ for four sites, PDLT (8.67):

    $$\tfrac1{n_{\ell-1}}\big[\delta_{i_1i_2}\delta_{i_3i_4}D_{1234} + \delta_{i_1i_3}\delta_{i_2i_4}F_{1324}
      + \delta_{i_1i_4}\delta_{i_2i_3}F_{1423}\big].$$

    $E[z\,\widehat{\Delta H}] = 0$, PDLT (8.35).

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]], through="ntk")
        >>> round(float(fw.expansion.tangent_preactivation_correlator(theory, 2, [(0, 0), (0, 0), (1, 0), (1, 0)])), 6)
        0.742187
    """
    index, points = checked_sites(flow, layer, sites, (4,))
    return _paired(points, flow.D[index], flow.F[index]) / flow.previous_widths[index]


def _paired(
    points: list[Site], straight: Float[Array, "N N N N"], crossed: Float[Array, "N N N N"]
) -> Float[Array, ""]:
    """The three pairings of four neural indices; `straight` has its samples in the order 1234, `crossed` in 1324."""
    (i1, one), (i2, two), (i3, three), (i4, four) = points
    total = jnp.zeros(()) + (i1 == i2 and i3 == i4) * straight[one, two, three, four]
    total = total + (i1 == i3 and i2 == i4) * crossed[one, three, two, four]
    return total + (i1 == i4 and i2 == i3) * crossed[one, four, two, three]


@entry()
def averaged_tangent_covariance(flow: Flow) -> Float[Array, "L N N N N"]:
    r"""The covariance of the tangent kernel averaged over neurons, $\frac1{n_\ell}\sum_i\widehat H_{ii;12}$ with the same for
    samples 34: $\frac1{n_{\ell-1}}\big[A_{(12)(34)} + \frac1{n_\ell}(B_{1324} + B_{1423})\big]$, from PDLT (8.82).

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]], through="ntk")
        >>> fw.expansion.averaged_tangent_covariance(theory).shape
        (3, 2, 2, 2, 2)
    """
    B, (before, width) = (
        as_flow(flow).B,
        (_over_layers(widths) for widths in (flow.net.widths[:-1], flow.net.widths[1:])),
    )
    return (flow.A + (jnp.einsum("lacbd->labcd", B) + jnp.einsum("ladbc->labcd", B)) / width) / before


def _over_layers(widths: Sequence[int]) -> Float[np.ndarray, "L 1 1 1 1"]:
    return np.asarray(widths, dtype=float).reshape(-1, 1, 1, 1, 1)


@entry()
def observable_with_tangent(
    flow: Flow,
    layer: int,
    function: Observable,
    sites: tuple[Site, Site],
    *,
    samples: Sequence[int] = (0,),
    neurons: int = 1,
) -> Array:
    r"""$E[\mathcal O(z^{(\ell)})\,\widehat{\Delta H}^{(\ell)}_{i_3i_4;\alpha_3\alpha_4}]$ of an observable of a few neurons,
    PDLT (8.71):

    $$\tfrac1{n_{\ell-1}}\Big[\tfrac{\delta_{i_3i_4}}2\sum_m\langle\!\langle\partial_{m\gamma_1}\partial_{m\gamma_2}\mathcal O
      \rangle\!\rangle D_{\gamma_1\gamma_2\alpha_3\alpha_4} + \langle\!\langle\partial_{i_3\gamma_1}\partial_{i_4\gamma_2}\mathcal O
      \rangle\!\rangle F_{\gamma_1\alpha_3\gamma_2\alpha_4}\Big].$$

    Since $\langle\partial_a\partial_b\mathcal O\rangle = 2\,\partial\langle\mathcal O\rangle/\partial\Sigma_{ab}$ this is how
    $\langle\!\langle\mathcal O\rangle\!\rangle$ changes when the covariance $\Sigma = \delta_{mm'}K$ of all its variables is moved
    along $\delta_{i_3i_4}\delta_{mm'}D + (F + F^{\mathsf T})$.

    **Arguments:**

    - `function`: of preactivations, shape (samples, neurons), to a number or an array; smooth. At most four variables in all.
    - `sites`: $(i_3, \alpha_3), (i_4, \alpha_4)$, which name the tangent kernel. Neurons are numbered from 0 as in the columns of
      `function`; one outside of them is another neuron. $\alpha$ counts all the inputs of the flow, not only `samples`.
    - `samples`: which inputs the rows of `function` are.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]], through="ntk")
        >>> round(float(fw.expansion.observable_with_tangent(theory, 2, lambda z: z[0, 0] ** 2, ((1, 0), (1, 0)))), 6)
        0.742187
    """
    count = as_count(neurons, "neurons")
    index, ((i3, three), (i4, four)) = checked_sites(flow, layer, sites, (2,))
    K, _, _ = restricted(flow, layer, samples, count)
    check_observable(function, (len(samples), count), "function")
    chosen = np.asarray(samples)
    D = flow.D[index][np.ix_(chosen, chosen)][:, :, three, four]
    F = flow.F[index][:, three, :, four][np.ix_(chosen, chosen)]
    from_third, to_fourth = (jnp.zeros(count).at[i].set(1.0 * (i < count), mode="drop") for i in (i3, i4))
    crossed = jnp.einsum("m,k,ab->makb", from_third, to_fourth, F)
    direction = (i3 == i4) * jnp.einsum("mk,ab->makb", jnp.eye(count), D) + crossed + jnp.einsum("makb->kbma", crossed)
    size = count * len(chosen)
    derivative = covariance_derivative(function, jnp.kron(jnp.eye(count), K), direction.reshape(size, size), count)
    return derivative / flow.previous_widths[index]


def covariance_derivative(
    function: Observable, covariance: Float[Array, "d d"], direction: Float[Array, "d d"], neurons: int
) -> Array:
    r"""$\frac12\sum_{ab}\langle\partial_a\partial_b\mathcal O\rangle\,S_{ab}$ for a symmetric $S$ = `direction`: the derivative of
    $\langle\mathcal O\rangle_\Sigma$ along it, over the variables of `neurons` neurons, one neuron after the other."""

    def average(sigma: Array) -> Array:
        return gaussian_average(lambda z: function(z.reshape(neurons, -1).T), sigma, 1)

    return jax.jvp(average, (covariance,), (direction,))[1]
