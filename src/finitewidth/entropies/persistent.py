r"""Entropies of residual networks without an expansion: their neurons persist, and are not independent given a metric.

Given the layer before, neurons are independent Gaussians around what the skip passes on. So over networks, and over the neurons of each,
the law of one, two or three different neurons is the mean of products of Gaussians, on a grid. Where one of them is narrower than the grid
resolves, its probability stays and is moved by less than a step.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .._errors import DomainError
from ..ensembles.persistent_samples import Persistent
from .mixtures import GROUPS, WEIGHTS, Estimate, excess, in_groups, jackknife

NEURONS = 48
"""Of each network, at most: a third of them stands for each of three different neurons."""

_BESIDE = 4  # neurons of each network whose Gaussians are summed over the plane of two samples
_REACH = 6.0  # deviations beyond the outermost centre
_SCALE = 1.5  # of sinh, in deviations of the layer
_NODES, _NODES_ON_A_SIDE = 48, 97
_UNRESOLVED = 2e-3  # of the probability, at most, that the grid may have to move
_ORDERS = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))


class OfNeurons(NamedTuple):
    """One layer, by sampling."""

    entropy: Estimate
    pair: Estimate
    tripartite: Estimate


class _Axis(NamedTuple):
    r"""Nodes and weights of the trapezoid rule in $s$, $z = a\sinh s$: narrow Gaussians are those near zero."""

    nodes: Float[np.ndarray, " q"]
    weights: Float[np.ndarray, " q"]


def informations_of_neurons(layer: Persistent) -> OfNeurons:
    """Of one, two and three different neurons on the first input; `layer` is one of a network's, without that axis."""
    block, passed = in_groups(layer.block[:, 0, 0]), in_groups(layer.passed[:, 0])
    axis, each = _axis(block, passed, _NODES), passed.shape[-1] // 3
    three = np.empty((GROUPS, *[_NODES] * 3))
    for group in range(GROUPS):
        parts = np.split(passed[group][:, : 3 * each], 3, axis=1)
        a, b, c = (_laws(axis, block[group], part) for part in parts)
        law = np.einsum("ma,mb,mc->abc", a, b, c, optimize=True) / len(a)
        three[group] = sum(np.transpose(law, order) for order in _ORDERS) / len(_ORDERS)
    found = [_of_law(np.tensordot(weights, three, axes=1), axis) for weights in WEIGHTS]
    entropies, pairs, totals = np.transpose(found)
    return OfNeurons(
        jackknife(lambda _: entropies), jackknife(lambda _: pairs), jackknife(lambda _: 3 * pairs - totals)
    )


def _of_law(three: Float[np.ndarray, "q q q"], axis: _Axis) -> tuple[float, float, float]:
    r"""The entropy of one neuron, $I$ of two, and $\mathcal S_1 + \mathcal S_2 + \mathcal S_3 - \mathcal S_{123}$, PDLT (A.14), (A.24), of
    the probabilities of cells."""
    two = three.sum(axis=2)
    one = two.sum(axis=1)
    product = np.multiply.outer(one, one)
    return (
        _entropy(one, axis.weights),
        _divergence(two, product),
        _divergence(three, np.multiply.outer(product, one)),
    )


def information_of_samples(layer: Persistent) -> Estimate:
    """Of two inputs, through one neuron, PDLT (A.14)."""
    block, passed = in_groups(layer.block), in_groups(layer.passed[..., :_BESIDE])
    covariance = block.mean(axis=(0, 1)) + np.einsum("gman,gmbn->ab", passed, passed) / passed[:, :, 0].size
    root = np.linalg.cholesky(covariance)
    inverse = np.linalg.inv(root)
    one, other = (_entropies_alone(block[..., i, i], passed[:, :, i]) for i in range(2))
    both = _entropies_together(inverse @ block @ inverse.T, inverse @ passed) + np.log(np.diagonal(root)).sum()
    return jackknife(lambda _: one + other - both)


def _entropies_alone(
    variances: Float[np.ndarray, "groups each"], centres: Float[np.ndarray, "groups each n"]
) -> Float[np.ndarray, " sets"]:
    axis = _axis(variances, centres, _NODES_ON_A_SIDE)
    laws = np.stack([_laws(axis, *group).mean(axis=0) for group in zip(variances, centres, strict=True)])
    return np.array([_entropy(law, axis.weights) for law in WEIGHTS @ laws])


def _entropies_together(
    covariances: Float[np.ndarray, "groups each 2 2"], centres: Float[np.ndarray, "groups each 2 n"]
) -> Float[np.ndarray, " sets"]:
    axes = [_axis(covariances[..., i, i], centres[:, :, i], _NODES_ON_A_SIDE) for i in range(2)]
    cells = np.multiply.outer(axes[0].weights, axes[1].weights).ravel()
    laws = np.stack([_law_on_the_plane(axes, *group) for group in zip(covariances, centres, strict=True)])
    return np.array([_entropy(law, cells) for law in WEIGHTS @ laws])


def _entropy(law: np.ndarray, cells: np.ndarray) -> float:
    """Of the probabilities of cells of these sizes."""
    return -float(np.sum(law * np.log(np.where(law > 0, law / cells, 1.0))))


def _divergence(law: np.ndarray, of: np.ndarray) -> float:
    return float(np.sum(of * excess(np.divide(law, of, out=np.zeros_like(law), where=of > 0))))


def _axis(
    variances: Float[np.ndarray, "groups each"], centres: Float[np.ndarray, "groups each n"], nodes: int
) -> _Axis:
    """Beyond all Gaussians of these `variances`."""
    size = _SCALE * np.sqrt(np.mean(variances) + np.mean(centres**2))
    outermost = (np.abs(centres).max(axis=2) + _REACH * np.sqrt(variances)).max()
    s = np.linspace(-1, 1, nodes) * np.arcsinh(outermost / size)
    return _Axis(size * np.sinh(s), (s[1] - s[0]) * size * np.cosh(s))


def _laws(
    axis: _Axis, variances: Float[np.ndarray, " m"], centres: Float[np.ndarray, "m n"]
) -> Float[np.ndarray, "m q"]:
    """Probabilities of cells of the line in each network, averaged over its neurons."""
    exponent = (axis.nodes - centres[..., None]) ** 2 / (2 * variances[:, None, None])
    density = np.exp(-exponent) / np.sqrt(2 * np.pi * variances[:, None, None])
    return _normalised(axis.weights * density).mean(axis=1)


def _law_on_the_plane(
    axes: list[_Axis], covariances: Float[np.ndarray, "m 2 2"], centres: Float[np.ndarray, "m 2 n"]
) -> Float[np.ndarray, " q"]:
    """Probabilities of cells of the plane, averaged over networks and neurons."""
    nodes = np.stack(np.meshgrid(*(axis.nodes for axis in axes), indexing="ij")).reshape(2, -1)
    cells = np.multiply.outer(axes[0].weights, axes[1].weights).ravel()
    found = np.zeros(nodes.shape[1])
    for covariance, centre in zip(covariances, centres, strict=True):
        inverse = np.linalg.inv(np.linalg.cholesky(2 * covariance))
        away = (inverse @ nodes)[:, None, :] - (inverse @ centre)[:, :, None]
        density = np.linalg.det(inverse) / np.pi * np.exp(-(away**2).sum(axis=0))
        found += _normalised(cells * density).mean(axis=0)
    return found / len(covariances)


def _normalised(cells: Float[np.ndarray, "*m q"]) -> Float[np.ndarray, "*m q"]:
    """Probabilities that add up to one."""
    sums = cells.sum(axis=-1, keepdims=True)
    if not sums.all() or np.abs(sums - 1).mean() > _UNRESOLVED:
        got = "Gaussians too narrow beside the signal for a grid: gamma near one, or networks that differ much"
        raise DomainError("net", got, "a smaller gamma, or wider layers")
    return cells / sums
