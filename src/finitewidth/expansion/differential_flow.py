"""The flow of the tangent kernel's differentials, in one scan with that of metric and tangent kernel."""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .._arrays import Array, at_hand
from .._compile import compiled_in_haste
from ..activations import Activation, ScaleInvariant
from ..gaussian.accuracy import (
    VALUES_AND_SLOPES,
    Products,
    coarse_rule,
    fine_rule,
    pair_rule as choose_pair_rule,
    product_rule as choose_product_rule,
)
from ..gaussian.grid import elsewhere as on_other_grids
from ..gaussian.pairs import PairRule, square_averages
from ..gaussian.products import ProductRule
from ..kernels.differentials import check_has_differential, check_has_second_differential
from ..kernels.every_layer import every_layer
from ..kernels.pairs import PairIndex, pair_index
from ..networks import MLP, Layer
from ..results import Differential, Metric, SecondDifferential, Tangent
from .differential import Differentials, new_differentials, pair_matrices
from .kinked_curvature import kinked_curvature
from .multisets import Kind, multiset_averages, multisets
from .recursion import in_units_of_width
from .second_differential import FourFactors, SecondDifferentials, new_second_differentials
from .tangent import Sources, TangentState, first_state, new_crossed, pair_averages, passed_on, tangent_groups

# Kinds of products of four factors: how many values, slopes, second and third derivatives.
_VALUES, _MIXED, _SLOPES, _BENT = (4, 0, 0, 0), (2, 2, 0, 0), (0, 4, 0, 0), (1, 2, 1, 0)
_THIRD, _TWICE_BENT = (0, 3, 0, 1), (0, 2, 2, 0)
_TANGENT: tuple[Kind, ...] = (_VALUES, _MIXED, _SLOPES)
_FIRST: tuple[Kind, ...] = (*_TANGENT, _BENT)
_SECOND: tuple[Kind, ...] = (*_FIRST, _THIRD, _TWICE_BENT)
# What may come to stand on one variable where inputs are repeated or merge, PDLT (11.49), (∞.177)-(∞.181).
_OF_FIRST: Products = (*VALUES_AND_SLOPES, (2,), (0, 2), (1, 2), (1, 1, 2), (0, 1, 2))
_OF_SECOND: Products = (*_OF_FIRST, (3,), (1, 3), (1, 1, 3), (2, 2), (1, 2, 2))
_FEW = 6  # inputs, whose averages take less time than a program of their own to compile
_MOST_WORK = 5e10  # products of numbers on fine grids, a minute's work: of more averages all are taken on coarse ones
_COARSE_KNOWN_TO, _KNOWN_TO = 1e-7, 1e-13  # of the largest entry of a tensor


class State(NamedTuple):
    """Everything that is passed from layer to layer."""

    tangent: TangentState
    first: Differentials
    second: SecondDifferentials | None


def layer_step(
    activation: Activation,
    state: State,
    layer: Layer,
    pairs: PairIndex,
    pair_rule: PairRule,
    product_rule: ProductRule,
    of_distinct: dict[int, ProductRule],
) -> State:
    """One layer, with the parameters of the new one."""
    before, to_second = state.tangent, state.second is not None
    kinked = isinstance(activation, ScaleInvariant) and activation.has_jump(1)
    averages = pair_averages(activation, before.K, pairs, pair_rule)
    chosen = multisets(len(pairs.of), _TANGENT if kinked else _SECOND if to_second else _FIRST)
    found = multiset_averages(activation, pairs.unpack(before.K), chosen, product_rule, of_distinct)

    def by_sample(kind: Kind, order: str) -> Float[Array, "N N N N"]:
        """Axes abcd; `order` says which of them carry the values, then the slopes ..."""
        indices = _every_four(len(pairs.of))[..., ["abcd".index(letter) for letter in order]]
        return found[chosen.positions(kind, indices)]

    sources = Sources(*(found[chosen.positions(kind, _on_pairs(pairs))] for kind in _TANGENT))
    theta = pairs.unpack(before.theta)
    squared = square_averages(activation, before.K[pairs.diagonal], 0, slope=2)[0] if to_second else None
    two = pair_matrices(averages, pairs, squared)
    if isinstance(activation, ScaleInvariant) and kinked:
        bent = kinked_curvature(activation.a_plus, activation.a_minus, pairs.unpack(before.K))
    else:
        bent = by_sample(_BENT, "dbca")
    crossed = new_crossed(before, averages, sources, layer, pairs)
    first = new_differentials(before, state.first, layer, theta, two, bent, crossed)
    second = None
    if state.second is not None:
        mixed, slopes = (pairs.unpack_twice(each) for each in (sources.mixed, sources.slopes))
        four = FourFactors(slopes, mixed, bent, by_sample(_THIRD, "bcda"), by_sample(_TWICE_BENT, "cdab"))
        second = new_second_differentials(before, state.first, state.second, layer, theta, two, four)
    return State(passed_on(before, averages, sources, layer, pairs), first, second)


def _on_pairs(pairs: PairIndex) -> Int[np.ndarray, "P P 4"]:
    return np.stack(np.broadcast_arrays(pairs.a[:, None], pairs.b[:, None], pairs.a, pairs.b), axis=-1)


def _every_four(samples: int) -> Int[np.ndarray, "N N N N 4"]:
    return np.moveaxis(np.indices((samples,) * 4), 0, -1)


def iterate(
    activation: Activation,
    layers: Layer,
    K1: Float[Array, " P"],
    theta1: Float[Array, " P"],
    pairs: PairIndex,
    pair_rule: PairRule,
    product_rule: ProductRule,
    of_distinct: dict[int, ProductRule],
    to_second: bool,
) -> State:
    """Every layer, stacked, from the first, which has no differentials, PDLT (11.26)."""
    zero = jnp.zeros((len(pairs.of),) * 4, K1.dtype)
    second = SecondDifferentials(*[zero] * 4) if to_second else None
    start = State(first_state(K1, theta1, pairs), Differentials(zero, zero), second)

    def step(state: State, layer: Layer) -> State:
        return layer_step(activation, state, layer, pairs, pair_rule, product_rule, of_distinct)

    return every_layer(step, start, layers)


_compiled = compiled_in_haste(static_argnums=(0, 4, 8))(iterate)


def differential_flow(
    net: MLP,
    K1: Float[Array, "N N"],
    overlap: Float[Array, "N N"],
    largest: float,
    to_second: bool,
    elsewhere: bool = False,
) -> tuple[Float[Array, "L N N"], Metric[Array], Tangent[Array], Differential[Array], SecondDifferential[Array] | None]:
    """The kernel and the groups up to `differential`, or up to `second_differential`, for kernels of at most the `largest` variance.

    With `elsewhere`, on grids whose points stand closer together, by the same program: what differs is the error of either.
    """
    sigma, pairs = net.activation, pair_index(len(K1))
    (check_has_second_differential if to_second else check_has_differential)(sigma)
    products = _OF_SECOND if to_second else _OF_FIRST
    rules: tuple[Any, Any, Any] = (
        choose_pair_rule(sigma, largest, derivatives=5),
        choose_product_rule(sigma, largest, products),
        _rules_of_many(sigma, largest, products, len(K1))[0],
    )
    if elsewhere:
        rules = on_other_grids(rules)
    first = pairs.pack(K1), pairs.pack(net.first_tangent_kernel(overlap))
    states = at_hand(_compiled(sigma, net.layers[1:], *first, pairs, *rules, to_second))
    layers = tuple(range(1, net.depth + 1))
    P, Q = (in_units_of_width(net, each) for each in states.first)
    of_first = Differential(P=P, Q=Q, layers=layers)
    groups = tangent_groups(net, pairs, states.tangent)
    if states.second is None:
        return *groups, of_first, None
    R, S, T, U = (in_units_of_width(net, each) for each in states.second)
    return *groups, of_first, SecondDifferential(R=R, S=S, T=T, U=U, layers=layers)


def tensors_known_to(sigma: Activation, largest: float, samples: int) -> float:
    """How right the tensors of so many samples are, relative to their largest entries."""
    return _rules_of_many(sigma, largest, _OF_SECOND, samples)[1]


def _rules_of_many(
    sigma: Activation, largest: float, products: Products, samples: int
) -> tuple[dict[int, ProductRule], float]:
    """For averages over three and over four samples that differ, where these are many; and how right they are."""
    fine = fine_rule(sigma, largest, products) if samples > _FEW else None
    if fine is None or math.comb(samples, 4) * fine.nodes**3 <= _MOST_WORK:
        return ({} if fine is None else {3: fine, 4: fine}), _KNOWN_TO
    alone = tuple(
        orders for orders in products if len(orders) == 1
    )  # of four that differ each factor has one to itself
    rules = {3: coarse_rule(sigma, largest, products), 4: coarse_rule(sigma, largest, alone)}
    return {distinct: rule for distinct, rule in rules.items() if rule is not None}, _COARSE_KNOWN_TO
