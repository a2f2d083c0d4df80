r"""Derivatives of a function by its parameters, for a block of samples and of outputs, and their products.

A weight matrix that acts at $T$ positions on $x_t$ and gives $y_t$ has the derivatives $\sum_t x_t\otimes g_t$ with gradients
$g_t = \partial f/\partial y_t$, PDLT (8.16). Products of two such are $\sum_{st}(x_s\cdot x'_t)(g_s\cdot g'_t)$: with few positions it is
cheaper not to form the derivatives at all.
"""

import functools
import itertools
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Shaped

from .._arrays import Array
from .weight_uses import evaluate, one_sample, one_sample_program, weight_uses, zero_nudges

# Up to so many features received, squared positions may stay apart: their products take memory of their own.
_FEW_POSITIONS = 128

# A symmetric kernel is made in parts, of no fewer rows than keep matrix products efficient.
_MOST_PARTS, _ROWS_OF_A_PART = 4, 80


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
    f: Callable[[Any, Array], Array], params: Any, rates: list[Array], x: Shaped[Array, "B ..."], rows: Int[Array, " q"]
) -> Factors:
    """The derivatives of outputs number `rows` at samples `x`."""
    program = one_sample_program(f, params, x[0])
    leaves, structure = jax.tree.flatten(params)
    # Rates that differ within a leaf need its derivatives entry by entry.
    uses = [use for use in weight_uses(program, len(leaves)) if all(rates[leaf].ndim == 0 for leaf in use.leaves)]
    covered = {leaf for use in uses for leaf in use.leaves}
    others = {i: leaf for i, leaf in enumerate(leaves) if i not in covered}

    def of_one(sample: Array) -> Factors:
        def function(nudges: list[Array], others: dict[int, Array]) -> tuple[Array, list[Array]]:
            arguments = list((dict(enumerate(leaves)) | others).values())
            if not uses:
                return one_sample(f, structure, arguments, sample), []
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
    terms = []
    for leaves, one in first.split.items():
        other, (weight, *bias) = None if second is None else second.split[leaves], leaves
        if _is_better_split(one):
            of_leaves = rates[weight], sum(rates[leaf] for leaf in bias)
            terms.append(_of_blocks(partial(_product_of_split, of_leaves, outputs), _whole, one, other))
        else:
            terms.append(rates[weight] * _of_blocks(partial(_product, outputs), _by_weight, one, other))
            terms += [rates[leaf] * _of_blocks(partial(_product, outputs), _by_bias, one, other) for leaf in bias]
    for leaf, one in first.jacobians.items():
        other, rate = None if second is None else second.jacobians[leaf], rates[leaf]
        root = jnp.sqrt(rate) if rate.ndim else None
        terms.append(
            _of_blocks(partial(_product, outputs), partial(_rated, root), one, other) * (1 if rate.ndim else rate)
        )
    return functools.reduce(operator.add, terms)


@partial(jax.jit, static_argnums=(0, 5))
def own_kernel(
    f: Callable[[Any, Array], Array],
    params: Any,
    rates: list[Array],
    x: Shaped[Array, "B ..."],
    rows: Int[Array, " q"],
    outputs: str,
) -> Array:
    """The kernel of a block of samples with itself, in one program: derivatives need not all be there at the same time."""
    return products(factors(f, params, rates, x, rows), None, rates, outputs)


def _of_blocks(product: Callable[[Any, Any], Array], form: Callable[[Any], Any], one: Any, other: Any | None) -> Array:
    """The product of two blocks, each having been formed; or of one with itself, from one of each two mirror images."""
    if other is not None:
        return product(form(one), form(other))
    leaf = jax.tree.leaves(one)[-1]
    samples, rows = leaf.shape[:2]
    count = min(samples, max(1, min(_MOST_PARTS, samples * rows // _ROWS_OF_A_PART)))
    bounds = np.linspace(0, samples, count + 1).astype(int)
    parts = [form(jax.tree.map(lambda leaf, i=i, j=j: leaf[i:j], one)) for i, j in itertools.pairwise(bounds)]
    blocks: dict[tuple[int, int], Array] = {}
    for i, j in itertools.combinations_with_replacement(range(count), 2):
        blocks[i, j] = product(parts[i], parts[j])
        if i < j:
            order = (2, 3, 0, 1) if blocks[i, j].ndim == 4 else (1, 0, *range(2, blocks[i, j].ndim))
            blocks[j, i] = blocks[i, j].transpose(order)
    axis = 2 if blocks[0, 0].ndim == 4 else 1
    return jnp.concatenate([jnp.concatenate([blocks[i, j] for j in range(count)], axis) for i in range(count)])


def _whole(factor: Split) -> Split:
    return factor


def _by_weight(factor: Split) -> Float[Array, "B q d_in d_out"]:
    return jnp.swapaxes(factor.received, 1, 2)[:, None] @ factor.gradients


def _by_bias(factor: Split) -> Float[Array, "B q d_out"]:
    return factor.gradients.sum(axis=2)


def _rated(root_of_rate: Array | None, jacobian: Float[Array, "B q *leaf"]) -> Float[Array, "B q *leaf"]:
    return jacobian if root_of_rate is None else jacobian * root_of_rate


def _is_better_split(factor: Split) -> bool:
    """Whether products of rows and of gradients are cheaper than the derivative that they make up."""
    positions, d_in = factor.received.shape[1:]
    return positions == 1 or 8 * positions**2 <= min(d_in, _FEW_POSITIONS)


def _product_of_split(rates: tuple[Array, Any], outputs: str, one: Split, other: Split) -> Array:
    received = rates[0] * jnp.einsum("asi,bti->asbt", one.received, other.received) + rates[1]
    if outputs == "full":
        gradients = jnp.einsum("aqso,brto->aqsbrt", one.gradients, other.gradients)
        return jnp.sum(received[:, None, :, :, None] * gradients, axis=(2, 5))
    if outputs == "diagonal":
        gradients = jnp.einsum("aqso,bqto->asbtq", one.gradients, other.gradients)
        return jnp.sum(received[..., None] * gradients, axis=(1, 3))
    return jnp.sum(received * jnp.einsum("aqso,bqto->asbt", one.gradients, other.gradients), axis=(1, 3))


def _product(outputs: str, one: Float[Array, "A q ..."], other: Float[Array, "B r ..."]) -> Array:
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
