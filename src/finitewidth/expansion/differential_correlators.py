"""Correlators with the differentials of the tangent kernel, and what one step does to means over networks, assembled from the flow."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError, ShapeError, UnknownNameError
from .._validation import as_count, as_floats, as_number
from ..realised.observable import Observable, check_observable
from ..results import Flow, as_flow
from .correlators import Site, checked_sites
from .observables import gaussian_average, restricted

Kind = Literal["I", "II"]


@entry()
def differential_correlator(flow: Flow, layer: int, sites: Sequence[Site]) -> Float[Array, ""]:
    r"""$E[\widehat{dH}_{i_0i_1i_2;\delta_0\delta_1\delta_2}\,z_{i_3;\delta_3}]$ of a layer for four sites $(i, \delta)$, PDLT (11.45):

    $$\tfrac1{n_{\ell-1}}\big[\delta_{i_0i_3}\delta_{i_1i_2}P_{0123} + \delta_{i_0i_1}\delta_{i_2i_3}Q_{0123}
      + \delta_{i_0i_2}\delta_{i_1i_3}Q_{0213}\big].$$

    Examples:
        >>> net = fw.MLP("sin", (2, 8, 8, 1))
        >>> theory = fw.flow(net, [[1.0, 0.5]], through="dntk")
        >>> round(float(fw.expansion.differential_correlator(theory, 2, [(0, 0), (1, 0), (1, 0), (0, 0)])), 6)
        -0.040982
    """
    index, points = checked_sites(flow, layer, sites, (4,))
    (i0, zero), (i1, one), (i2, two), (i3, three) = points
    P, Q = flow.P[index], flow.Q[index]
    total = jnp.zeros(()) + (i0 == i3 and i1 == i2) * P[zero, one, two, three]
    total = total + (i0 == i1 and i2 == i3) * Q[zero, one, two, three]
    total = total + (i0 == i2 and i1 == i3) * Q[zero, two, one, three]
    return total / flow.previous_widths[index]


@entry()
def second_differential_mean(flow: Flow, layer: int, sites: Sequence[Site], kind: Kind) -> Float[Array, ""]:
    r"""$E[\widehat{dd_IH}]$, PDLT (∞.11), or $E[\widehat{dd_{II}H}]$, PDLT (∞.12), of layer `layer` for four sites $(i, \delta)$.

    $$\tfrac1n\big[\delta_{i_0i_1}\delta_{i_2i_3}R_{0123} + \delta_{i_0i_2}\delta_{i_3i_1}R_{0231}
      + \delta_{i_0i_3}\delta_{i_1i_2}R_{0312}\big],\qquad
      \tfrac1n\big[\delta_{i_1i_2}\delta_{i_3i_4}S_{1234} + \delta_{i_1i_3}\delta_{i_4i_2}T_{1342}
      + \delta_{i_1i_4}\delta_{i_2i_3}U_{1423}\big].$$

    Examples:
        >>> net = fw.MLP("sin", (2, 8, 8, 1))
        >>> theory = fw.flow(net, [[1.0, 0.5]], through="ddntk")
        >>> round(float(fw.expansion.second_differential_mean(theory, 2, [(0, 0), (0, 0), (1, 0), (1, 0)], "II")), 6)
        0.237937
    """
    if kind not in get_args(Kind):
        raise UnknownNameError("kind", kind, get_args(Kind))
    index, points = checked_sites(flow, layer, sites, (4,))
    (i, a), (j, b), (k, c), (m, d) = points
    first, second, third = (flow.R,) * 3 if kind == "I" else (flow.S, flow.T, flow.U)
    total = jnp.zeros(()) + (i == j and k == m) * first[index][a, b, c, d]
    total = total + (i == k and m == j) * second[index][a, c, d, b]
    total = total + (i == m and j == k) * third[index][a, d, b, c]
    return total / flow.previous_widths[index]


@entry()
def observable_with_differential(
    flow: Flow,
    layer: int,
    function: Observable,
    sites: tuple[Site, Site, Site],
    *,
    samples: Sequence[int] = (0,),
    neurons: int = 1,
) -> Array:
    r"""$E[\mathcal O(z^{(\ell)})\,\widehat{dH}^{(\ell)}_{i_0i_1i_2;\delta_0\delta_1\delta_2}]$ of an observable of a few neurons, to
    leading order, PDLT (11.42), (11.46):

    $$\tfrac1{n_{\ell-1}}\sum_\delta\Big[\delta_{i_1i_2}P_{\delta_0\delta_1\delta_2\delta}\big\langle\!\big\langle
      \tfrac{\partial\mathcal O}{\partial z_{i_0;\delta}}\big\rangle\!\big\rangle
      + \delta_{i_0i_1}Q_{\delta_0\delta_1\delta_2\delta}\big\langle\!\big\langle\tfrac{\partial\mathcal O}{\partial z_{i_2;\delta}}
      \big\rangle\!\big\rangle + \delta_{i_0i_2}Q_{\delta_0\delta_2\delta_1\delta}\big\langle\!\big\langle
      \tfrac{\partial\mathcal O}{\partial z_{i_1;\delta}}\big\rangle\!\big\rangle\Big].$$

    **Arguments:**

    - `function`: of preactivations, shape (samples, neurons), to a number or an array; smooth. At most four variables in all.
    - `sites`: $(i_0, \delta_0), (i_1, \delta_1), (i_2, \delta_2)$, which name the differential. Neurons are numbered from 0 as in the
      columns of `function`; one outside of them is another neuron. $\delta$ counts all the inputs of the flow, not only `samples`.
    - `samples`: which inputs the rows of `function` are.

    Examples:
        >>> net = fw.MLP("sin", (2, 8, 8, 1))
        >>> theory = fw.flow(net, [[1.0, 0.5]], through="dntk")
        >>> sites = ((0, 0), (1, 0), (1, 0))
        >>> round(float(fw.expansion.observable_with_differential(theory, 2, lambda z: z[0, 0], sites)), 6)
        -0.040982
    """
    count = as_count(neurons, "neurons")
    index, ((i0, zero), (i1, one), (i2, two)) = checked_sites(flow, layer, sites, (3,))
    K, _, _ = restricted(flow, layer, samples, count)
    check_observable(function, (len(samples), count), "function")
    chosen, P, Q = np.asarray(samples), flow.P[index], flow.Q[index]
    direction = jnp.zeros((len(chosen), count))
    for applies, neuron, row in (
        (i1 == i2, i0, P[zero, one, two]),
        (i0 == i1, i2, Q[zero, one, two]),
        (i0 == i2, i1, Q[zero, two, one]),
    ):
        if applies and neuron < count:
            direction = direction.at[:, neuron].add(row[chosen])
    moved = gaussian_average(lambda z: jax.jvp(function, (z,), (direction,))[1], K, count)
    return moved / flow.previous_widths[index]


@entry()
def mean_tangent_change(flow: Flow, rate: float, *, train: Sequence[int] | None = None) -> Float[Array, "N N"]:
    r"""The mean over networks of what one step does to the tangent kernel of the output, to first order in the rate, for the loss
    $\frac12\sum(z-y)^2$; the same for all targets. From PDLT (11.10) and (11.45):

    $$E[đ\widehat H_{i_1i_2;\delta_1\delta_2}] = -\frac\eta n\delta_{i_1i_2}\sum_\alpha\big[P_{\delta_1\delta_2\alpha\alpha}
      + n_LQ_{\delta_1\delta_2\alpha\alpha} + Q_{\delta_1\alpha\delta_2\alpha} + (\delta_1\leftrightarrow\delta_2)\big] + O(\eta^2).$$

    `train` are the samples of the flow that are trained on, all unless given.

    Examples:
        >>> net = fw.MLP("sin", (2, 8, 8, 1))
        >>> theory = fw.flow(net, [[1.0, 0.5]], through="dntk")
        >>> fw.expansion.mean_tangent_change(theory, rate=0.1).shape
        (1, 1)
    """
    P, Q, outputs, alpha, width = _of_the_output(flow, train)
    step = as_number(rate, "rate")
    summed = jnp.einsum("abcc->ab", P[:, :, alpha][..., alpha]) + outputs * jnp.einsum(
        "abcc->ab", Q[:, :, alpha][..., alpha]
    )
    summed = summed + jnp.einsum("acbc->ab", Q[:, alpha][..., alpha])
    return -step / width * (summed + summed.T)


@entry()
def mean_second_order_shift(
    flow: Flow, y: Any, rate: float, *, train: Sequence[int] | None = None
) -> Float[Array, "N n_L"]:
    r"""The mean over networks of the part of an output's change in one step that is of second order in the rate, for the loss
    $\frac12\sum(z-y)^2$. From PDLT (11.9) and (11.45):

    $$\tfrac{\eta^2}2E[\widehat{dH}\epsilon\epsilon]_{i;\delta} = -\frac{\eta^2}n\sum_{\alpha_1\alpha_2}\big[
      P_{\delta\alpha_1\alpha_2\alpha_1} + Q_{\delta\alpha_1\alpha_2\alpha_1}
      + n_LQ_{\delta\alpha_2\alpha_1\alpha_1}\big]\,y_{i;\alpha_2}.$$

    `y` are the targets, shape (number of `train` samples, n_L), of the samples of the flow that are trained on, all unless given.

    Examples:
        >>> net = fw.MLP("sin", (2, 8, 8, 1))
        >>> theory = fw.flow(net, [[1.0, 0.5]], through="dntk")
        >>> fw.expansion.mean_second_order_shift(theory, [[1.0]], rate=0.1).shape
        (1, 1)
    """
    P, Q, outputs, alpha, width = _of_the_output(flow, train)
    targets, step = as_floats(y, "y"), as_number(rate, "rate")
    if targets.shape != (len(alpha), outputs):
        raise ShapeError("y", f"shape {targets.shape}", f"shape ({len(alpha)}, {outputs}): one target a sample")
    both = (P + Q)[:, alpha][:, :, alpha][..., alpha]
    wired = Q[:, alpha][:, :, alpha][..., alpha]
    pulled = jnp.einsum("daba->db", both) + outputs * jnp.einsum("dbaa->db", wired)
    return -(step**2) / width * pulled @ targets


def _of_the_output(flow: Flow, train: Sequence[int] | None) -> tuple[Array, Array, int, np.ndarray, float]:
    net, samples = as_flow(flow).net, flow.K.shape[-1]
    alpha = np.arange(samples) if train is None else np.asarray(train)
    if alpha.ndim != 1 or alpha.dtype.kind not in "iu" or not ((alpha >= 0) & (alpha < samples)).all():
        raise DomainError("train", train, f"numbers of samples, from 0 to {samples - 1}")
    return jnp.asarray(flow.P[-1]), jnp.asarray(flow.Q[-1]), net.widths[-1], alpha, float(flow.previous_widths[-1])
