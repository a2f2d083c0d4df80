"""Correlators of preactivations with neural indices, assembled from the flow."""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Float

from .._arrays import Array
from .._entry import entry
from .._errors import DomainError, ShapeError
from .._validation import as_count
from ..gaussian.wick import pairings
from ..results import Flow, as_flow

Site = tuple[int, int]
"""A neuron and a sample."""


def checked_sites(flow: Flow, layer: int, sites: Sequence[Site], numbers: tuple[int, ...]) -> tuple[int, list[Site]]:
    """The index of a layer, and sites (neuron, sample) of which there must be one of `numbers`."""
    layer = as_count(layer, "layer")
    if layer > as_flow(flow).net.depth:
        raise DomainError("layer", layer, f"at most {flow.net.depth}, the network's depth")
    if len(sites) not in numbers:
        raise ShapeError("sites", f"{len(sites)} of them", " or ".join(map(str, numbers)))
    samples = flow.K.shape[-1]
    if not all(hasattr(site, "__len__") and len(site) == 2 for site in sites):
        raise ShapeError("sites", repr(sites)[:60], "pairs (neuron, sample)")
    for i, (neuron, sample) in enumerate(sites):
        as_count(neuron, f"sites[{i}][0]", at_least=0)
        if as_count(sample, f"sites[{i}][1]", at_least=0) >= samples:
            raise DomainError(f"sites[{i}][1]", sample, f"a sample between 0 and {samples - 1}")
    return layer - 1, list(sites)


def _two_point(metric: Float[Array, "N N"], left: Site, right: Site) -> Float[Array, ""] | float:
    same_neuron = left[0] == right[0]
    return metric[left[1], right[1]] * same_neuron


@entry()
def correlator(flow: Flow, layer: int, sites: Sequence[Site]) -> Float[Array, ""]:
    r"""$E[z_{i_1;\alpha_1}\cdots z_{i_m;\alpha_m}]$ of layer `layer` for two or four sites $(i, \alpha)$, to order $1/n$.

    $\delta_{ij}G_{\alpha\beta}$ for two, PDLT (4.116); for four the three pairings of $E[\hat G\hat G]$, PDLT (4.71).
    Odd correlators vanish.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]])
        >>> round(float(fw.expansion.correlator(theory, 2, [(0, 0), (0, 1)])), 6)
        0.277018
    """
    index, points = checked_sites(flow, layer, sites, (2, 4))
    total = jnp.zeros(())
    metric = flow.G[index]
    if len(points) == 2:
        return total + _two_point(metric, *points)
    for (a, b), (c, d) in pairings(4):
        total = total + _two_point(metric, points[a], points[b]) * _two_point(metric, points[c], points[d])
    return total + connected_correlator(flow, layer, points)


@entry()
def connected_correlator(flow: Flow, layer: int, sites: Sequence[Site]) -> Float[Array, ""]:
    r"""The connected four-point correlator, PDLT (4.77), PDLT (4.117):
    $\frac1{n_{\ell-1}}[\delta_{i_1i_2}\delta_{i_3i_4}V_{(\alpha_1\alpha_2)(\alpha_3\alpha_4)} + \text{2 more pairings}]$.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]])
        >>> round(float(fw.expansion.connected_correlator(theory, 2, [(0, 0), (0, 0), (1, 0), (1, 0)])), 6)
        0.976562
    """
    index, points = checked_sites(flow, layer, sites, (4,))
    v = flow.v[index]
    total = jnp.zeros(())
    for (a, b), (c, d) in pairings(4):
        if points[a][0] == points[b][0] and points[c][0] == points[d][0]:
            total = total + v[points[a][1], points[b][1], points[c][1], points[d][1]]
    return total
