"""Where a function multiplies by its parameters: the matrix products and convolutions in its program.

The derivative of an output by such a weight is a product, that of what the weight received and that of what its product's
nudges do to the output. Both are small where the weight is large.
"""

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Float

from .._arrays import Array
from .._jax import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxpr_as_fun

Path = tuple[int, ...]
"""Where an equation stands in a program: its number, after those of the calls around it."""

_CALLS = ("jit", "pjit", "closed_call", "core_call")


@dataclass(frozen=True)
class WeightUse:
    """The one place where the parameter `weight` is used, as operand number `side` of a linear `equation`."""

    weight: int
    path: Path
    side: int
    equation: JaxprEqn
    bias: int | None = None
    """A parameter whose one use is to be added to this product, the same at all positions."""
    sum_path: Path | None = None
    """Where it is added."""

    @property
    def leaves(self) -> tuple[int, ...]:
        """The parameters that are covered: the weight, and the bias if there is one."""
        return (self.weight,) if self.bias is None else (self.weight, self.bias)

    @property
    def features(self) -> tuple[int, ...]:
        """The axes of the product that are the weight's own; all others count positions."""
        params, rank = self.equation.params, len(_shape(self.equation.outvars[0]))
        if self.equation.primitive.name == "conv_general_dilated":
            return (params["dimension_numbers"].out_spec[1],)
        own = len(_shape(self.equation.invars[self.side])) - len(params["dimension_numbers"][0][self.side])
        return tuple(range(rank - own, rank)) if self.side == 1 else tuple(range(own))

    def received(self, operand: Array) -> Float[Array, "T d_in"]:
        """The other operand, one row for each position at which the weight acts."""
        if self.equation.primitive.name == "conv_general_dilated":
            return self._patches(operand)
        contracted = self.equation.params["dimension_numbers"][0][1 - self.side]
        free = [axis for axis in range(operand.ndim) if axis not in contracted]
        size = int(np.prod([operand.shape[axis] for axis in contracted]))
        return operand.transpose(*free, *contracted).reshape(-1, size)

    def given(self, product: Array) -> Float[Array, "T d_out"]:
        """The product, or derivatives by it, one row for each of these positions."""
        positions = [axis for axis in range(product.ndim) if axis not in self.features]
        size = int(np.prod([product.shape[axis] for axis in self.features]))
        return product.transpose(*positions, *self.features).reshape(-1, size)

    def _patches(self, image: Array) -> Float[Array, "T d_in"]:
        params, kernel = self.equation.params, _shape(self.equation.invars[1])
        numbers = params["dimension_numbers"]
        window = [kernel[axis] for axis in numbers.rhs_spec[2:]]
        patches = lax.conv_general_dilated_patches(
            image,
            window,
            params["window_strides"],
            params["padding"],
            params["lhs_dilation"],
            params["rhs_dilation"],
            lax.ConvDimensionNumbers(numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec),
        )
        feature = numbers.out_spec[1]
        return jnp.moveaxis(patches, feature, -1).reshape(-1, patches.shape[feature])


def weight_uses(program: ClosedJaxpr, leaves: int) -> tuple[WeightUse, ...]:
    """The uses of those among the first `leaves` arguments that do nothing but multiply, once."""
    return _found(program, leaves) if _are_read() else ()


@functools.cache
def _are_read() -> bool:
    """Whether programs of this JAX are what they are taken for here, tried once on one that is known, which is not run.

    Their names and fields are no interface: a version that changes them costs the speed that uses of weights bring, and no result.
    """
    filters, weight, bias, image = (jnp.zeros(shape) for shape in ((3, 2, 2, 2), (12, 4), (4,), (2, 3, 3)))

    @jax.jit
    def layer(weight: Array, bias: Array, x: Array) -> Array:
        return jnp.tanh(x @ weight + bias)

    def network(leaves: tuple[Array, Array, Array], x: Array) -> Array:
        return layer(*leaves[1:], lax.conv(jnp.asarray(x), jnp.asarray(leaves[0]), (1, 1), "VALID").reshape(len(x), -1))

    def with_uses(sample: Array) -> tuple[Array, list[Array]]:
        out, operands = evaluate(program, uses, zero_nudges(uses), [filters, weight, bias, sample])
        given = [use.given(nudge) for use, nudge in zip(uses, zero_nudges(uses), strict=True)]
        received = [use.received(operand) for use, operand in zip(uses, operands, strict=True)]
        return out, received + given

    try:
        program = one_sample_program(network, (filters, weight, bias), image)
        uses = _found(program, 3)
        out, parts = jax.eval_shape(with_uses, image)
    except Exception:  # whatever a name that is not there leads to
        return False
    shapes = [part.shape for part in parts]
    return out.shape == (4,) and shapes == [(4, 8), (1, 12), (4, 3), (1, 4)] and uses[-1].leaves == (1, 2)


def _found(program: ClosedJaxpr, leaves: int) -> tuple[WeightUse, ...]:
    search = _Search()
    search.through(program.jaxpr, dict(zip(program.jaxpr.invars[:leaves], range(leaves), strict=True)), ())
    counts = Counter(leaf for use in search.uses for leaf in use.leaves)
    once = {leaf for leaf, count in counts.items() if count == 1} - search.otherwise
    with_bias = (use if use.bias in once else replace(use, bias=None, sum_path=None) for use in search.uses)
    return tuple(use for use in with_bias if use.weight in once)


def _shape(atom: Any) -> tuple[int, ...]:
    return tuple(atom.aval.shape)


class _Search:
    """Follows parameters through a program until something is done with them."""

    def __init__(self) -> None:
        self.uses: list[WeightUse] = []
        self.otherwise: set[int] = set()  # parameters that also enter in another way

    def through(self, jaxpr: Jaxpr, held: dict[Var, int], path: Path) -> None:
        """Go through the equations of one call, where some variables are parameters."""
        spread: dict[Var, JaxprEqn] = {}  # parameters repeated along new axes
        reads = Counter(v for equation in jaxpr.eqns for v in equation.invars if isinstance(v, Var))
        reads.update(v for v in jaxpr.outvars if isinstance(v, Var))
        for number, equation in enumerate(jaxpr.eqns):
            inputs = [held.get(v) if isinstance(v, Var) else None for v in equation.invars]
            found = [leaf for leaf in inputs if leaf is not None]
            if not found:
                continue
            inner, here, name = _called(equation), (*path, number), equation.primitive.name
            side = inputs.index(found[0])
            if inner is not None:
                within = {v: leaf for v, leaf in zip(inner.jaxpr.invars, inputs, strict=True) if leaf is not None}
                self.through(inner.jaxpr, within, here)
            elif name == "transpose" and equation.invars[0] not in spread:
                held[equation.outvars[0]] = found[0]  # the same numbers in another order
            elif name == "broadcast_in_dim" and equation.invars[0] not in spread:
                held[equation.outvars[0]] = found[0]
                spread[equation.outvars[0]] = equation
            elif name == "add" and len(found) == 1 and equation.invars[side] in spread:
                self._add_bias(equation, side, found[0], spread[cast(Var, equation.invars[side])], reads, here)
            elif len(found) == 1 and equation.invars[side] not in spread and _is_plain_product(equation, side):
                self.uses.append(WeightUse(found[0], here, side, equation))
            else:
                self.otherwise.update(found)
        # What leaves a call may be used anywhere.
        self.otherwise.update(held[v] for v in jaxpr.outvars if isinstance(v, Var) and v in held)

    def _add_bias(self, addition: JaxprEqn, side: int, leaf: int, spread: JaxprEqn, reads: Counter, here: Path) -> None:
        product = addition.invars[1 - side]
        for i, use in enumerate(self.uses):
            if use.path[:-1] == here[:-1] and use.equation.outvars[0] is product and use.bias is None:
                along_features = tuple(spread.params["broadcast_dimensions"]) == use.features
                whole = _shape(spread.invars[0]) == tuple(_shape(product)[axis] for axis in use.features)
                if along_features and whole and reads[product] == 1:
                    self.uses[i] = replace(use, bias=leaf, sum_path=here)
                    return
        self.otherwise.add(leaf)


def _called(equation: JaxprEqn) -> ClosedJaxpr | None:
    inner = equation.params.get("jaxpr", equation.params.get("call_jaxpr"))
    return inner if equation.primitive.name in _CALLS and isinstance(inner, ClosedJaxpr) else None


def _is_plain_product(equation: JaxprEqn, side: int) -> bool:
    """Whether the equation is a matrix product, or a convolution with the parameter for its filter, and nothing more."""
    params = equation.params
    if equation.primitive.name == "dot_general":
        return not any(params["dimension_numbers"][1])
    if equation.primitive.name == "conv_general_dilated":
        groups = params["feature_group_count"], params["batch_group_count"]
        return side == 1 and groups == (1, 1) and set(params["lhs_dilation"]) == {1}
    return False


def evaluate(
    program: ClosedJaxpr, uses: Sequence[WeightUse], nudges: Sequence[Array], arguments: Sequence[Array]
) -> tuple[Array, list[Array]]:
    """The program's first result with `nudges` added to the products of `uses`, and the other operands of these."""
    product_at = {use.path: i for i, use in enumerate(uses)}
    nudge_at = {use.sum_path or use.path: i for i, use in enumerate(uses)}
    operands: list[Any] = [None] * len(uses)

    def run(closed: ClosedJaxpr, values: Sequence[Any], path: Path) -> list[Any]:
        known = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
        known |= dict(zip(closed.jaxpr.invars, values, strict=True))
        for number, equation in enumerate(closed.jaxpr.eqns):
            inputs = [v.val if isinstance(v, Literal) else known[v] for v in equation.invars]
            here = (*path, number)
            inner = _called(equation)
            results = run(inner, inputs, here) if inner is not None else _results(closed.jaxpr, equation, inputs)
            if here in product_at:
                i = product_at[here]
                operands[i] = inputs[1 - uses[i].side]
            if here in nudge_at and results[0] is not None:  # a product that nothing reads has no derivatives
                results = [results[0] + nudges[nudge_at[here]]]
            known |= dict(zip(equation.outvars, results, strict=True))
        return [v.val if isinstance(v, Literal) else known[v] for v in closed.jaxpr.outvars]

    return run(program, arguments, ())[0], operands


def _results(jaxpr: Jaxpr, equation: JaxprEqn, inputs: Sequence[Any]) -> list[Any]:
    """One equation as a program of its own: how its primitive is to be called is jax's own business."""
    variables = {v: value for v, value in zip(equation.invars, inputs, strict=True) if isinstance(v, Var)}
    read = {v for each in (*(e.invars for e in jaxpr.eqns), jaxpr.outvars) for v in each if isinstance(v, Var)}
    outputs = [v for v in equation.outvars if v in read]
    alone = jaxpr.replace(
        constvars=[], invars=list(variables), outvars=outputs, eqns=[equation], effects=equation.effects
    )
    found = dict(zip(outputs, jaxpr_as_fun(ClosedJaxpr(alone, ()))(*variables.values()), strict=True))
    return [found.get(v) for v in equation.outvars]


def zero_nudges(uses: Sequence[WeightUse]) -> list[Array]:
    """Nothing added to any product."""
    products: list[Any] = [use.equation.outvars[0].aval for use in uses]
    return [jnp.zeros(product.shape, product.dtype) for product in products]


def one_sample_program(f: Any, params: Any, sample: Array) -> ClosedJaxpr:
    """The program of `f` for one sample, a function of the parameters' leaves and of the sample."""
    leaves, structure = jax.tree.flatten(params)
    return jax.make_jaxpr(functools.partial(one_sample, f, structure))(leaves, sample)


def one_sample(f: Any, structure: Any, leaves: Sequence[Array], sample: Array) -> Array:
    """The outputs of `f` for one sample, in one row, a function of the parameters' leaves."""
    return f(jax.tree.unflatten(structure, leaves), sample[None]).reshape(-1)
