"""Tangent kernels of many networks, one by one: what a histogram is made of."""

import os
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.random import fold_in
from jaxtyping import Float, Int, Key

from .._arrays import Array
from .._entry import entry
from .._errors import UnknownNameError
from .._validation import as_ensemble, as_inputs
from ..kernels.tangent_map import check_has_tangent_kernel
from ..networks import MLP, as_mlp
from ..runs.run import run
from ..runs.store import empty_store, put
from .forward_backward import MatrixKind, backward, draw, forward
from .gaussian_matrix import DenseGaussian, LazyGaussian
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

    **Returns:** an array with axes (network, $i_1$, $i_2$, $\alpha_1$, $\alpha_2$). One network is in memory at a time.
    """
    check_has_tangent_kernel(as_mlp(net).activation)
    inputs = as_inputs(x, "x", net.widths[0])
    networks, seed = as_ensemble(networks, seed)
    if not isinstance(method, str) or method not in _KINDS:
        raise UnknownNameError("method", method, _KINDS)
    key = jax.random.key(seed)

    def one_from(first: Int[Array, ""] | int) -> Float[Array, "1 n_L n_L N N"]:
        return _one(net, inputs, fold_in(key, first), _KINDS[method])[None]

    return run(
        lambda store, first: put(store, first, one_from(first)),
        empty_store(jax.eval_shape(one_from, 0), networks),
        total=networks,
        lane=1,
        problem=(net, inputs, networks, seed, method),
        chunk_size=1,
        checkpoint=checkpoint,
        progress=progress,
    )


@partial(jax.jit, static_argnames="kind")
def _one(net: MLP, x: Float[Array, "N n_0"], key: Key[Array, ""], kind: MatrixKind) -> Float[Array, "n_L n_L N N"]:
    passed, network = forward(draw(net, key, kind), x)
    gradients, _ = backward(network, passed, tuple(range(net.widths[-1])))
    return kernel_from_gradients(net, passed, gradients)
