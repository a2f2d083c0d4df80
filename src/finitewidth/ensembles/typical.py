r"""Typical networks, where means are those of a few: quantiles of kernel and gradients over networks written out.

A kernel is a product of as many random factors as there are layers. When depth over width is large its logarithm is what is
nearly Gaussian: the mean lies far above the median, and no sample mean of a thousand networks finds it.
"""

from typing import Any

import numpy as np

from .._entry import entry
from .._validation import as_ensemble, as_inputs
from ..activations.sampling import sampled
from ..networks import MLP, as_mlp
from ..networks.layer import kernel_of
from ..results.typical import TYPICAL_LEVELS, TypicalNetworks

_NUMBERS = 50_000_000  # weights that are held at once


@entry()
def typical_networks(net: MLP, x: Any, *, networks: int = 256, seed: int = 0) -> TypicalNetworks:
    r"""Medians and central ranges of 90 % of kernel and gradients, measured on dense networks.

    - `net`: an MLP whose activation has slopes.
    - `x`: inputs (N, n_0), of which the first is looked at.
    - `networks`: how many to draw, in groups that fit into memory.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.ensembles.typical_networks(net, [[1.0, 0.5]], networks=8).kernel.shape
        (3, 3)
    """
    count, seed = as_ensemble(networks, seed, at_least=2)
    first = np.asarray(as_inputs(x, "x", as_mlp(net).widths[0]))[0]
    start = float(np.asarray(net.first_kernel(first[None]))[0, 0])
    random = np.random.default_rng(seed)
    group = int(np.clip(_NUMBERS // max(1, net.parameters), 1, count))
    drawn = [_draw(net, start, random, min(group, count - done)) for done in range(0, count, group)]
    kernel, gradient = (np.concatenate(part, axis=1) for part in zip(*drawn, strict=True))
    quantiles = [np.quantile(part, TYPICAL_LEVELS, axis=1) for part in (kernel, gradient)]
    return TypicalNetworks(*quantiles, networks=count, seed=seed)


def _draw(net: MLP, start: float, random: np.random.Generator, group: int) -> tuple[np.ndarray, np.ndarray]:
    """Kernels and squared gradients, (L, networks) each, by a forward and a backward pass through all weights."""
    C_b, C_W = np.asarray(net.C_b), np.asarray(net.C_W)
    z = np.sqrt(start) * random.standard_normal((group, net.widths[1]))
    kernels, slopes, weights = [np.full(group, start)], [], []
    for layer, (n, following) in enumerate(zip(net.widths[1:-1], net.widths[2:], strict=True), start=1):
        values, slope = sampled(net.activation.value, z.ravel())[:2].reshape(2, group, n)
        kernels.append(kernel_of(C_b[layer], C_W[layer], np.mean(values**2, axis=1)))
        slopes.append(slope)
        following = 1 if layer == net.depth - 1 else following  # one output is looked at
        weights.append(random.standard_normal((group, following, n)) * np.sqrt(C_W[layer] / n))
        z = np.einsum("gij,gj->gi", weights[-1], values) + np.sqrt(C_b[layer]) * random.standard_normal(
            (group, following)
        )
    backward = np.ones((group, 1))
    gradients = [np.ones(group)]
    for slope, weight in zip(reversed(slopes), reversed(weights), strict=True):
        backward = slope * np.einsum("gi,gij->gj", backward, weight)
        gradients.append(np.sum(backward**2, axis=1))
    return np.stack(kernels), np.stack(gradients[::-1])
