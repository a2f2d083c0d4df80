"""The parameters of one realised network, and the network as a function of them."""

import functools
import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Float, Key

from .._arrays import Array
from .._entry import entry
from .._errors import ArgumentError, ShapeError
from .._memory import check_memory
from .._random import key_of
from .._validation import as_count, as_floats, as_inputs
from ..activations import Activation
from ..networks.mlp import MLP, as_mlp


class Parameters(eqx.Module):
    r"""Weights $W^{(\ell)}$, shape $(n_\ell, n_{\ell-1})$, and biases $b^{(\ell)}$, shape $(n_\ell,)$, one of each per layer."""

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]


@entry()
def draw_parameters(net: MLP, key: int | Key[Array, ""]) -> Parameters:
    r"""One draw with $E[b_i^2] = C_b^{(\ell)}$ and $E[W_{ij}^2] = C_W^{(\ell)}/n_{\ell-1}$, PDLT (2.19)-(2.20).

    `key` is a seed or a key of `jax.random`.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> params = fw.draw_parameters(net, 0)
        >>> params.weights[0].shape
        (8, 2)
    """
    what = f"the {as_mlp(net).parameters} parameters of {net.depth} layers up to {max(net.widths)} wide"
    check_memory(16.0 * net.parameters, "net", what, "smaller widths")
    key = key if isinstance(key, jax.Array) else key_of(as_count(key, "key", at_least=0))
    keys = jax.random.split(key, as_mlp(net).depth)
    normals = [jax.random.normal(k, (n, m + 1)) for k, (m, n) in zip(keys, _shapes(net), strict=True)]
    return Parameters(
        tuple(jnp.sqrt(C / m) * z[:, 1:] for C, m, z in zip(net.C_W, net.widths[:-1], normals, strict=True)),
        tuple(jnp.sqrt(C) * z[:, 0] for C, z in zip(net.C_b, normals, strict=True)),
    )


@entry()
def apply(net: MLP, params: Parameters, x: Any) -> tuple[Float[Array, "N _"], ...]:
    r"""The preactivations $z^{(1)}, \dots, z^{(L)}$ of one network, PDLT (2.5); the last are its outputs.

    **Arguments:**

    - `params`: its [`Parameters`][finitewidth.realised.parameters.Parameters].
    - `x`: inputs, shape (N, n_0).

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> params = fw.draw_parameters(net, 0)
        >>> fw.realised.apply(net, params, [[1.0, 0.5], [0.3, -1.0]])[-1].shape
        (2, 1)
    """
    return preactivations(net, as_parameters(net, params), as_inputs(x, "x", net.widths[0]))


def preactivations(net: MLP, params: Parameters, x: Float[Array, "N n_0"]) -> tuple[Float[Array, "N _"], ...]:
    """`apply` without checks. One compiled program serves every layer of a shape, so depth costs no compilation."""
    z = _first(params.weights[0], params.biases[0], x)
    found = [z]
    for W, b in zip(params.weights[1:], params.biases[1:], strict=True):
        z = _next(net.activation, W, b, z)
        found.append(z)
    return tuple(found)


@jax.jit
def _first(W: Float[Array, "n n_0"], b: Float[Array, " n"], x: Float[Array, "N n_0"]) -> Float[Array, "N n"]:
    return x @ W.T + b


@functools.partial(jax.jit, static_argnums=0)
def _next(
    activation: Activation, W: Float[Array, "n m"], b: Float[Array, " n"], z: Float[Array, "N m"]
) -> Float[Array, "N n"]:
    return activation(z) @ W.T + b


def rates_of_parameters(net: MLP) -> Parameters:
    r"""$\lambda_\mu$ of every group of parameters: $\lambda_b^{(\ell)}$ and $\lambda_W^{(\ell)}/n_{\ell-1}$, PDLT (8.6); one number a
    group, which broadcasts to the group's shape."""
    weights = (rate / n for rate, n in zip(net.lambda_W, net.widths[:-1], strict=True))
    return Parameters(tuple(jnp.reshape(rate, (1, 1)) for rate in weights), tuple(net.lambda_b[:, None]))


def as_parameters(net: MLP, params: Any) -> Parameters:
    """`params` if they are those of a network of these widths, with finite entries."""
    as_mlp(net)
    if not isinstance(params, Parameters):
        raise ArgumentError("params", type(params).__name__, "`Parameters`, such as `draw_parameters` gives")
    shapes = _shapes(net)
    for name, leaves, wanted in (
        ("params.weights", params.weights, [(n, m) for m, n in shapes]),
        ("params.biases", params.biases, [(n,) for _, n in shapes]),
    ):
        got = [tuple(jnp.shape(leaf)) for leaf in leaves]
        if got != wanted:
            raise ShapeError(name, f"shapes {got}", f"{wanted}, as the widths of {net!r} ask for")
    return Parameters(
        tuple(as_floats(W, "params.weights") for W in params.weights),
        tuple(as_floats(b, "params.biases") for b in params.biases),
    )


def _shapes(net: MLP) -> list[tuple[int, int]]:
    return list(itertools.pairwise(net.widths))
