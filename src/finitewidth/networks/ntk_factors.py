r"""Derivatives of a function by its parameters, for a block of samples and of outputs, and their products.

A weight matrix that acts at $T$ positions on $x_t$ and gives $y_t$ has $\partial f/\partial W = \sum_t x_t\otimes\partial f/\partial y_t$.
Products of two such derivatives are $\sum_{st}(x_s\cdot x'_t)(\partial f/\partial y_s\cdot\partial f'/\partial y'_t)$, PDLT (8.16): with few
positions it is cheaper not to form the derivatives at all.
"""

import functools
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .weight_uses import evaluate, one_sample_program, weight_uses, zero_nudges


# Up to so many features received, squared positions may stay apart: their products take memory of their own.
_FEW_POSITIONS = 128

class Split(NamedTuple):
    """A derivative by a weight, and by the bias after it, as the two factors of a sum of outer products."""

    received: Float[Array, "B T d_in"]
    """What the weight receives at each position; a bias receives one."""
    gradients: Float[Array, "B q T d_out"]


class Factors(NamedTuple):
    """Derivatives by every leaf."""

    split: dict[tuple[int, ...], Split]
    """By the numbers of a weight and of its bias, if it has one."""
    jacobians: dict[int, Float[Array, "B q *leaf"]]
    """By the number of a leaf that is used in any other way: as they are."""


@partial(jax.jit, static_argnums=0)
def factors(
    f: Callable[[Any, Array], Array], params: Any, rates: list[Array], x: Float[Array, "B ..."], rows: Int[Array, " q"]
) -> Factors:
    """The derivatives of outputs number `rows` at samples `x`."""
    program = one_sample_program(f, params, x[0])
    leaves = jax.tree.leaves(params)
    # Rates that differ within a leaf need its derivatives entry by entry.
    uses = [use for use in weight_uses(program, len(leaves)) if all(rates[leaf].ndim == 0 for leaf in use.leaves)]
    covered = {leaf for use in uses for leaf in use.leaves}
    others = {i: leaf for i, leaf in enumerate(leaves) if i not in covered}

    def of_one(sample: Array) -> Factors:
        def function(nudges: list[Array], others: dict[int, Array]) -> tuple[Array, list[Array]]:
            arguments = [others.get(i, leaf) for i, leaf in enumerate(leaves)]
            return evaluate(program, uses, nudges, [*arguments, sample])

        out, pull, operands = jax.vjp(function, zero_nudges(uses), others, has_aux=True)
        by_products, jacobians = jax.vmap(pull)(jnp.eye(out.size, dtype=out.dtype)[rows])
        split = {}
        for use, operand, gradients in zip(uses, operands, by_products, strict=True):
            split[use.leaves] = Split(use.received(operand), jax.vmap(use.given)(gradients))
        return Factors(split, jacobians)

    return jax.vmap(of_one)(x)


@partial(jax.jit, static_argnames="outputs")
def products(first: Factors, second: Factors | None, rates: list[Array], outputs: str) -> Array:
    """The kernel between two blocks, or of one with itself, summed over all parameters with their `rates`.

    Axes: (sample, output, sample, output) for `"full"`, (sample, sample, output) for `"diagonal"`, (sample, sample) for
    `"trace"`.
    """
    second = first if second is None else second
    jacobians = {leaf: (one, second.jacobians[leaf]) for leaf, one in first.jacobians.items()}
    terms = []
    for leaves, one in first.split.items():
        other, (weight, *bias) = second.split[leaves], leaves
        if _is_better_split(one):
            received = rates[weight] * jnp.einsum("asi,bti->asbt", one.received, other.received)
            received = received + sum(rates[leaf] for leaf in bias)
            terms.append(_product_of_split(received, one.gradients, other.gradients, outputs))
        else:
            jacobians[weight] = _each(_by_weight, one, other)
            jacobians.update((leaf, _each(_by_bias, one, other)) for leaf in bias)
    for leaf, (one, other) in jacobians.items():
        rate = rates[leaf]
        if rate.ndim:
            other, rate = other * rate, 1
        terms.append(rate * _product(one, other, outputs))
    return functools.reduce(operator.add, terms)


def _by_weight(factor: Split) -> Float[Array, "B q d_in d_out"]:
    return jnp.swapaxes(factor.received, 1, 2)[:, None] @ factor.gradients


def _by_bias(factor: Split) -> Float[Array, "B q d_out"]:
    return factor.gradients.sum(axis=2)


def _each(function: Callable[[Split], Array], one: Split, other: Split) -> tuple[Array, Array]:
    """The function of both, computed once if they are the same."""
    first = function(one)
    return first, first if other is one else function(other)


def _is_better_split(factor: Split) -> bool:
    """Whether products of rows and of gradients are cheaper than the derivative that they make up."""
    positions, d_in = factor.received.shape[1:]
    return positions == 1 or 8 * positions**2 <= min(d_in, _FEW_POSITIONS)


def _product_of_split(received: Float[Array, "A T B T"], one: Array, other: Array, outputs: str) -> Array:
    if outputs == "full":
        gradients = jnp.einsum("aqso,brto->aqsbrt", one, other)
        return jnp.sum(received[:, None, :, :, None] * gradients, axis=(2, 5))
    if outputs == "diagonal":
        gradients = jnp.einsum("aqso,bqto->asbtq", one, other)
        return jnp.sum(received[..., None] * gradients, axis=(1, 3))
    return jnp.sum(received * jnp.einsum("aqso,bqto->asbt", one, other), axis=(1, 3))


def _product(one: Float[Array, "A q ..."], other: Float[Array, "B r ..."], outputs: str) -> Array:
    if outputs == "full":  # one plain matrix product is faster than the same with its axes apart
        rows, columns = (each.reshape(each.shape[0] * each.shape[1], -1) for each in (one, other))
        return (rows @ columns.T).reshape(*one.shape[:2], *other.shape[:2])
    contraction = {"diagonal": "aqp,bqp->abq", "trace": "aqp,bqp->ab"}[outputs]
    return jnp.einsum(contraction, *(each.reshape(*each.shape[:2], -1) for each in (one, other)))


def numbers_held(of_one: Factors) -> tuple[int, int]:
    """How many numbers the derivatives at a sample take: once, and for each output, given those of one sample and one output."""
    once = sum(factor.received.size for factor in of_one.split.values())
    each = sum(factor.gradients.size for factor in of_one.split.values())
    each += sum(jacobian.size for jacobian in of_one.jacobians.values())
    formed = [f.received.shape[2] * f.gradients.shape[3] for f in of_one.split.values() if not _is_better_split(f)]
    return once, each + max(formed, default=0)
