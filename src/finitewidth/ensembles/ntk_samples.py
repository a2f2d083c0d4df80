"""Tangent kernels of many networks, one by one: what a histogram is made of."""

import os
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float, Key

from .._arrays import Array
from .._entry import entry
from .._errors import UnknownNameError
from .._validation import as_ensemble, as_inputs
from ..kernels.tangent_map import check_has_tangent_kernel
from ..networks import MLP, as_mlp
from .forward_backward import MatrixKind, backward, draw, forward
from .gaussian_matrix import DenseGaussian, LazyGaussian
from .one_by_one import one_by_one
from .tangent_samplers import kernel_from_gradients

_KINDS: dict[str, MatrixKind] = {"dense": DenseGaussian, "lazy": LazyGaussian}


@entry(remedy="lower C_W or the depth")
def ntk_samples(
    net: MLP,
    x: Any,
    networks: int = 100,
    seed: int = 0,
    method: str = "lazy",
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Float[np.ndarray, "networks n_L n_L N N"]:
    r"""The output's tangent kernels $\widehat H^{(L)}_{i_1i_2;\alpha_1\alpha_2}$ of an ensemble, by the backward equation
    PDLT (8.16)-(8.18).

    **Arguments:**

    - `x`: inputs, shape (N, n_0).
    - `networks`, `seed`: how many networks to draw; network $i$ of a seed is always the same.
    - `method`: `"lazy"` draws only the products with weights that the passes ask for, so that networks may be wider than any
      matrix that fits; `"dense"` draws all weights. Both have the same law.
    - `progress`, `checkpoint`: as in `simulate`.

    **Returns:** an array with axes (network, $i_1$, $i_2$, $\alpha_1$, $\alpha_2$). Networks are drawn as many at a time as fit the cache,
    wide ones one by one.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> fw.ntk_samples(net, [[1.0, 0.5]], networks=2).shape
        (2, 1, 1, 1, 1)
    """
    check_has_tangent_kernel(as_mlp(net).activation)
    inputs = as_inputs(x, "x", net.widths[0])
    networks, seed = as_ensemble(networks, seed)
    if not isinstance(method, str) or method not in _KINDS:
        raise UnknownNameError("method", method, _KINDS)
    kind = _KINDS[method]
    sampler, numbers = _TangentKernel(kind, net, inputs), _numbers_per_network(net, len(inputs), kind)
    return one_by_one(sampler, numbers, networks, seed, (net, inputs, networks, seed, method), checkpoint, progress)


class _TangentKernel(eqx.Module):
    """Of one network, by a forward and a backward pass."""

    kind: MatrixKind = eqx.field(static=True)
    net: MLP
    x: Float[Array, "N n_0"]

    def __call__(self, key: Key[Array, ""]) -> Float[Array, "n_L n_L N N"]:
        passed, network = forward(draw(self.net, key, self.kind), self.x)
        gradients, _ = backward(network, passed, tuple(range(self.net.widths[-1])))
        return kernel_from_gradients(self.net, passed, gradients)


def _numbers_per_network(net: MLP, samples: int, kind: MatrixKind) -> int:
    """Vectors of every layer, forwards and backwards from each output; all weights if they are stored."""
    outputs = net.widths[-1]
    vectors = 4 * samples * (1 + outputs) * sum(net.widths) + net.depth * (outputs * samples) ** 2
    return vectors + (net.parameters if kind is DenseGaussian else 0)
