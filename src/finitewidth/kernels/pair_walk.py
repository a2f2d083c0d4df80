r"""Kernels of many inputs, pair by pair, through all layers.

What a pair's kernel becomes in the next layer depends on itself and on the variances of the two inputs, and on no other input. So the
variances come first, for all layers; then every pair walks alone. Pairs above the diagonal are enough: kernels are symmetric by
construction, and their diagonals exact.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array, diagonal
from .._compile import compiled_in_haste
from .._entry import is_traced
from ..activations import Activation
from ..gaussian.pairs import PairRule, pair_moment, square_averages
from ..networks import Layer
from .every_layer import every_layer

Kernels = tuple[Array, Array | None]
"""A kernel, and the tangent kernel where it is wanted."""

_APART = 0.0  # the covariance that stands on the diagonal meanwhile: formulas of two different inputs may be singular for one
_CLOSED_SIDE = (
    128  # a square of pairs that stays in the nearest memory of a processor, with all that is computed on the way
)
_SUMMED_SIDE = 512  # sums over modes or panels first expand the function of every input of a side


def two_kernels(kernels: Kernels) -> tuple[Array, Array]:
    """Those of which both are wanted, to a type checker."""
    K, theta = kernels
    assert theta is not None
    return K, theta


def _next(layer: Layer, average: Callable[[int], Array], kernels: Kernels, sizes: tuple[Array, Array]) -> Kernels:
    r"""PDLT (4.118) and (8.63), elementwise, from `average(s)` $= \langle\sigma^{(s)}_\alpha\sigma^{(s)}_\beta\rangle$."""
    K, theta = kernels
    values = average(0)
    if theta is None:
        return layer.kernel(values, K), None
    return layer.kernel(values, K), layer.tangent_kernel(values, layer.seen_slopes(average(1), *sizes), theta)


def _own_step(activation: Activation, kernels: Kernels, layer: Layer) -> Kernels:
    """Of inputs with themselves, PDLT (5.4)."""
    K = kernels[0]
    seen = layer.seen_variances(K)
    return _next(layer, lambda slope: square_averages(activation, seen, 0, slope)[0], kernels, (K, K))


def _pair_step(
    activation: Activation, rule: PairRule, kernels: Kernels, at: tuple[Layer, Float[Array, " n"], Float[Array, " m"]]
) -> Kernels:
    """Of each input of one side with each of another, given the variances of both sides."""
    layer, Kaa, Kbb = at[0], at[1][:, None], at[2][None, :]
    covariance = layer.seen_variances(Kaa), layer.seen(kernels[0], Kaa, Kbb), layer.seen_variances(Kbb)
    return _next(layer, lambda slope: pair_moment(activation, slope, slope, *covariance, rule), kernels, (Kaa, Kbb))


def _last(step: Callable, first: Kernels, layers: tuple) -> Kernels:
    return jax.lax.scan(lambda kernels, at: (step(kernels, at), None), first, layers)[0]


def diagonal_recursion(activation: Activation, layers: Layer, first: Kernels) -> Kernels:
    """The kernels of each input with itself, layer by layer, shape (L, N)."""
    return every_layer(partial(_own_step, activation), first, layers)


compiled_diagonal = compiled_in_haste(light=5000, static_argnums=0)(diagonal_recursion)


@partial(jax.jit, static_argnums=0)  # long runs, of a short program: it pays to have it optimised
def _rectangle(
    activation: Activation,
    layers: Layer,
    variances: tuple[Float[Array, "L n"], Float[Array, "L m"]],
    first: Kernels,
    rule: PairRule,
) -> Kernels:
    """The last kernels of the inputs of one side with those of another."""
    return _last(partial(_pair_step, activation, rule), first, (layers, *variances))


def _from_upper(upper: Float[Array, "*L N N"], own: Float[Array, "*L N"]) -> Float[Array, "*L N N"]:
    """Symmetric matrices from what is above their diagonals, and the diagonals."""
    N = own.shape[-1]
    above, on = np.triu(np.ones((N, N), dtype=bool), 1), np.eye(N, dtype=bool)
    return jnp.where(on, own[..., None, :], jnp.where(above, upper, jnp.swapaxes(upper, -1, -2)))


def _square(
    walk: Callable[..., Kernels], activation: Activation, layers: Layer, first: Kernels, rule: PairRule
) -> tuple[Kernels, Kernels]:
    """What a `walk` makes of all pairs, above the diagonal; and the diagonals of all layers."""
    own = diagonal_recursion(activation, layers, jax.tree.map(diagonal, first))
    variances = own[0][:-1]
    start = jnp.where(np.eye(len(first[0]), dtype=bool), _APART, first[0]), first[1]
    return walk(partial(_pair_step, activation, rule), start, (layers, variances, variances)), own


@compiled_in_haste(static_argnums=0)
def every_kernel(activation: Activation, layers: Layer, first: Kernels, rule: PairRule) -> Kernels:
    """The kernels of every layer from those of the first, shape (L, N, N)."""
    upper, own = _square(every_layer, activation, layers, first, rule)
    return jax.tree.map(_from_upper, upper, own)


@compiled_in_haste(static_argnums=0)
def _last_square(activation: Activation, layers: Layer, first: Kernels, rule: PairRule) -> Kernels:
    upper, own = _square(_last, activation, layers, first, rule)
    return jax.tree.map(lambda each, of: _from_upper(each, of[-1]), upper, own)


def last_kernels(activation: Activation, layers: Layer, first: Kernels, rule: PairRule) -> Kernels:
    """The last layer's kernels from those of the first: of many inputs in squares of pairs, which all share one program."""
    side, N = _CLOSED_SIDE if rule is None else _SUMMED_SIDE, len(first[0])
    if side >= N or is_traced((layers, first, rule)):
        return _last_square(activation, layers, first, rule)
    own = jax.tree.map(np.asarray, compiled_diagonal(activation, layers, jax.tree.map(diagonal, first)))
    variances, start = own[0][:-1], (np.array(first[0]), first[1])
    np.fill_diagonal(start[0], _APART)
    last = jax.tree.map(np.empty_like, start)
    sides = [slice(at, at + side) for at in (*range(0, N - side, side), N - side)]  # the last two may overlap
    for index, rows in enumerate(sides):
        for columns in sides[index:]:
            between = variances[:, rows], variances[:, columns]
            corner = start[0][rows, columns], None if start[1] is None else start[1][rows, columns]
            with jax.ensure_compile_time_eval():  # there are numbers to compute, even where a caller traces others
                walked = _rectangle(activation, layers, between, corner, rule)
            for whole, part in zip(jax.tree.leaves(last), map(np.asarray, jax.tree.leaves(walked)), strict=True):
                upper = part if rows != columns else np.triu(part, 1) + np.triu(part, 1).T
                whole[rows, columns], whole[columns, rows] = upper, upper.T
    for whole, of in zip(jax.tree.leaves(last), jax.tree.leaves(own), strict=True):
        np.fill_diagonal(whole, of[-1])
    return last
