r"""Typical networks, where means are those of a few: quantiles of kernel and gradients over networks.

A kernel is a product of as many random factors as there are layers. When depth over width is large its logarithm is what is
nearly Gaussian: the mean lies far above the median, and no sample mean of a thousand networks finds it.
"""

from typing import Any

import numpy as np

from .._entry import entry
from .._validation import as_ensemble, as_inputs
from ..activations.sampling import values_and_slopes
from ..networks import MLP, as_mlp
from ..networks.layer import kernel_of
from ..results.typical import TYPICAL_LEVELS, TypicalNetworks

_NUMBERS = 10_000_000  # neurons that are held at once


@entry()
def typical_networks(net: MLP, x: Any, *, networks: int = 256, seed: int = 0) -> TypicalNetworks:
    r"""Medians and central ranges of 90 % of kernel and gradients, measured on networks.

    A Gaussian matrix shows itself by what it does to the signals on their way forward and to the gradients on their way back: drawn
    from that alone, networks are exact in law and never written out.

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
    group = int(np.clip(_NUMBERS // max(1, sum(net.hidden_widths)), 1, count))
    drawn = [_draw(net, start, random, min(group, count - done)) for done in range(0, count, group)]
    kernel, gradient = (np.concatenate(part, axis=1) for part in zip(*drawn, strict=True))
    quantiles = [np.quantile(part, TYPICAL_LEVELS, axis=1) for part in (kernel, gradient)]
    return TypicalNetworks(*quantiles, networks=count, seed=seed)


def _draw(net: MLP, start: float, random: np.random.Generator, group: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Kernels and squared gradients, (L, networks) each.

    Forward, $z = W\sigma + b$ is Gaussian of variance $\frac{C_W}n|\sigma|^2 + C_b$. Backward, what is known of $W$ is that it takes
    $\sigma$ to $u = z - b$: $W^Te = \frac{u\cdot e}{|\sigma|^2}\sigma + \sqrt{C_W/n}\,|e|\,Pg$ with normal $g$ and $P$ the projection
    orthogonal to $\sigma$. Of $u$ a share $s$ of $z$ is known, its part of the variance: $u\cdot e = s\,z\cdot e + \sqrt{sC_b}\,|e|g'$.
    """
    C_b, C_W = np.asarray(net.C_b), np.asarray(net.C_W)
    z = np.sqrt(start) * random.standard_normal((group, net.widths[1]))
    kernels, passed = [np.full(group, start)], []
    for layer, following in enumerate(net.widths[2:], start=1):
        width = 1 if layer == net.depth - 1 else following  # one output is looked at
        value, slope = values_and_slopes(net.activation.value, z)
        if 0.0 in net.activation.kinks:
            # Where a signal has died, a kink at zero lets no gradient pass, as in other libraries.
            slope = np.where(z == 0, 0.0, slope)
        square, scale = np.sum(value**2, axis=1), C_W[layer] / z.shape[1]
        kernels.append(kernel_of(C_b[layer], scale, square))
        z = np.sqrt(kernels[-1])[:, None] * random.standard_normal((group, width))
        passed.append((value, slope, square, z, scale, C_b[layer]))
    backward = np.ones((group, 1))
    gradients = [np.ones(group)]
    for value, slope, square, z, scale, bias in reversed(passed):
        size = np.sum(backward**2, axis=1)
        share = np.maximum(0.0, 1 - _quotient(bias, kernel_of(bias, scale, square)))
        seen = share * np.sum(z * backward, axis=1) + np.sqrt(share * bias * size) * random.standard_normal(group)
        free = np.sqrt(scale * size)[:, None] * random.standard_normal(value.shape)
        along = seen - np.sum(value * free, axis=1)
        backward = slope * (free + value * _quotient(along, square)[:, None])
        gradients.append(np.sum(backward**2, axis=1))
    return np.stack(kernels), np.stack(gradients[::-1])


def _quotient(a: np.ndarray | float, b: np.ndarray) -> np.ndarray:
    """Zero where a signal has died."""
    return np.divide(a, b, where=b > 0, out=np.zeros_like(b))
