"""How many modes and nodes a smooth function needs: measured on the function itself, never guessed.

The function is sampled once on a fine equispaced grid; every coarser rule is a stride of that grid, so that choosing
one costs a few small matrix products.
"""

import functools
import itertools
import math
from typing import TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._errors import DomainError
from .derivatives import ORDERS, sampled
from .function import Function
from .grid import GridRule, grid_rule
from .hermite import HermiteRule, as_data, hermite_table
from .places import KINK_REACH, REACH, PanelRule, left_unresolved
from .products import ProductRule

Tree = TypeVar("Tree")

TRACED_VARIANCE = 4.0  # assumed bound on variances that are being traced and cannot be looked at

_GRAM_TAIL = 1e-12
_PAIR_ERROR, _PRODUCT_ERROR = 1e-12, 1e-11
_UNRESOLVED = 1e-6  # in the last coefficients on some panel; averages are better by several digits
_FINER = (0, 2, 4)  # rungs more than usual that panels may have
_ROUNDING = 1e-13  # sums over a few hundred nodes are no better than this
_FINE_STEP, _REACH = 0.0125, 12.0
_MOST_MODES = 1024
_REFERENCE = (_MOST_MODES + 1, 2 * round(_REACH / _FINE_STEP) + 1, _REACH)  # modes, nodes, reach
_STRIDES = (30, 24, 20, 16, 12, 10, 8, 6, 5, 4, 3, 2)
_ORDERS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, _MOST_MODES)
_TAIL, _LARGEST_TAIL = 11.0, 1e-9  # deviations beyond which next to nothing of an average may be
_GRID_REACH = 9.0
_GRAM_STRIDE, _GRAM_BLOCK = 3, 16  # one grid resolves all modes; these are summed in blocks
_COARSE_ERROR, _COARSE_REACH = 1e-3, 7.5
_MOST_TILES = 6  # along an axis, each of the size that variances up to one need: beyond, panels cost less


@functools.lru_cache(maxsize=256)
def _samples(function: Function, derivatives: int, variance: float) -> np.ndarray:
    """The function and its derivatives on the fine grid, shape (derivatives + 1, nodes)."""
    z = math.sqrt(variance) * hermite_table(*_REFERENCE)[0]
    together = max(derivatives + 1, ORDERS) if derivatives > 1 else derivatives + 1
    return sampled(function.value, z, together)[: derivatives + 1]


def check_averages(function: Function, variance: float) -> None:
    """`DomainError` where a function of a Gaussian variable of this variance is not finite, its square has no average, or no
    quadrature resolves it."""
    if function.has_closed_pair or function.has_closed_product:
        return
    u, weights = hermite_table(*_REFERENCE)
    got = f"{getattr(function, 'name', 'a function')!r} at a variance of {variance:.3g}, where it is"
    with np.errstate(over="ignore", invalid="ignore"):
        square = _samples(function, 0, _round_up(variance))[0] ** 2 * weights[:, 0]
        if not np.isfinite(square).all():
            raise DomainError("activation", f"{got} NaN or infinite", "a function finite wherever its inputs go")
        if square[np.abs(u) > _TAIL].sum() > _LARGEST_TAIL * square.sum():
            raise DomainError(
                "activation", f"{got} too large for an average of its square", "slower growth than a Gaussian"
            )
    check_resolved(function, variance, "activation")


def check_resolved(function: Function, variance: float, argument: str) -> None:
    """`DomainError` naming `argument` where no quadrature resolves a function of a Gaussian variable of this variance."""
    if not isinstance(gram_rule(function, variance), PanelRule):
        return
    if _finer(function, variance) is None:
        name = getattr(function, "name", "a function")
        raise DomainError(
            argument,
            f"{name!r}, which panels around its kinks and steep places do not resolve at a variance of {variance:.3g}: it oscillates, "
            f"varies on very different scales, or has kinks beyond {KINK_REACH:g} that nobody declared",
            "a function with a few kinks and steep places, all kinks in `Activation(value, kinks)`, or a smaller variance",
        )


def within_traced_variance(tree: Tree, variances: Float[Array, "..."], bound: float) -> Tree:
    """`tree`, computed under `jit`, `vmap` or `grad` with rules for a `bound` on the variances: running it beyond is an error."""
    largest = jnp.max(variances)
    return eqx.error_if(
        tree,
        largest > _round_up(bound),
        f"A variance under `jit` or `grad` exceeds {_round_up(bound):.3g}, beyond which quadratures chosen in advance lose digits: "
        "scale the inputs down, or pass a larger `traced_variance` where the function takes one.",
    )


def _strided(reach: float, stride: int) -> slice:
    """The nodes of the fine grid that form the rule with this stride and reach."""
    middle, steps = _REFERENCE[1] // 2, math.ceil(reach / (_FINE_STEP * stride))
    return slice(middle - steps * stride, middle + steps * stride + 1, stride)


def _strides(reach: float) -> list[tuple[int, slice]]:
    """Number of nodes and place on the fine grid of each rule that fits, coarsest first."""
    slices = [_strided(reach, stride) for stride in _STRIDES]
    return [(len(range(s.start, s.stop, s.step)), s) for s in slices if s.start >= 0]


def _parity(samples: np.ndarray) -> int | None:
    scale = np.abs(samples).max() * 1e-14
    if np.abs(samples + samples[::-1]).max() <= scale:
        return 1
    return 0 if np.abs(samples - samples[::-1]).max() <= scale else None


def _modes_needed(samples: np.ndarray) -> int | None:
    """The fewest modes that leave out next to nothing of the squared norm, if the nodes for Gram matrices resolve these."""
    _, weights = hermite_table(*_REFERENCE)
    modes, place = samples @ weights, _strided(_REACH, _GRAM_STRIDE)
    if not np.isfinite(modes).all() or not modes.any():
        return None
    norm = np.linalg.norm(modes)
    left_out = np.append(np.cumsum((modes**2)[::-1])[::-1], 0.0) / norm**2
    needed = int(np.argmax(left_out <= _GRAM_TAIL))
    error = samples[place] @ weights[place, :needed] * place.step - modes[:needed]
    resolved = np.abs(error).max(initial=0.0) <= _GRAM_TAIL * norm
    return needed if needed <= _MOST_MODES and resolved else None


def _round_up(variance: float) -> float:
    """To the next power of two, or to one: a rule is seldom chosen anew. Whichever is chosen, programs are the same."""
    return 2.0 ** max(0, math.ceil(math.log2(max(variance, 1.0)) - _ROUNDING))


def gram_rule(function: Function, largest_variance: float, derivatives: int = 0) -> HermiteRule | PanelRule | None:
    """The rule for Gram matrices of a function, or of its derivatives up to an order, too.

    `None` where a closed form needs none; panels for functions with kinks, and where modes would be too many.
    This rule and those below are data: give them to `jit` as ordinary arguments, not as static ones, and a program compiled once
    serves inputs of other scales.
    """
    return _gram_rule(function, _round_up(largest_variance), derivatives)


def _panel_rule(function: Function, variance: float) -> PanelRule:
    """In steps of several decades, so that inputs of most scales share one rule; where the function has points far out, in the smaller
    steps by which panels grow."""
    decades = math.ceil(math.log(variance, 64) - _ROUNDING)
    within = REACH * 8.0 ** max(0, decades)
    reach = math.inf if all(abs(point) <= within for point in function.places.points) else within
    return PanelRule(8.0 ** max(1, decades + (decades + 1) % 2), reach, _finer(function, variance) or 0)


@functools.lru_cache(maxsize=256)
def _finer(function: Function, variance: float) -> int | None:
    """How many rungs more than usual resolve a function of a Gaussian variable of this variance, if some do."""
    tried = (left_unresolved(function.value, function.places, variance, finer) for finer in _FINER)
    return next((finer for finer, left in zip(_FINER, tried, strict=True) if left < _UNRESOLVED), None)


@functools.lru_cache(maxsize=256)
def _gram_rule(function: Function, variance: float, derivatives: int) -> HermiteRule | PanelRule | None:
    if function.has_closed_pair:
        return None
    if function.kinks:
        return _panel_rule(function, variance)
    needed = [_modes_needed(each) for each in _samples(function, derivatives, variance)]
    if None in needed:
        return _panel_rule(function, variance)
    parity = _parity(_samples(function, 0, 1.0)[0])
    block = _GRAM_BLOCK if parity is None else 2 * _GRAM_BLOCK
    blocks = max(1, -(-max(each for each in needed if each is not None) // block))
    (u, table), (how_many,) = _all_modes(), as_data(np.asarray(blocks))
    return HermiteRule(u, table, how_many, block, parity)


@functools.cache
def _all_modes() -> tuple[Array, ...]:
    """One table for all Gram matrices."""
    place = _strided(_REACH, _GRAM_STRIDE)
    return as_data(*hermite_table(_MOST_MODES, len(range(place.start, place.stop, place.step)), _REACH))


Products = tuple[tuple[int, ...], ...]
"""Orders of derivatives whose products, on one variable, an average must resolve."""

# At coincident inputs two factors sit on one variable, so their products must be resolved too.
VALUES: Products = ((0,), (0, 0))
VALUES_AND_SLOPES: Products = (*VALUES, (1,), (0, 1), (1, 1))
CURVATURE_OF_VALUES: Products = (*VALUES, (0, 4))


def product_rule(function: Function, largest_variance: float, products: Products = VALUES) -> ProductRule:
    """The rule for four- and six-point averages of the factors named in `products`."""
    return _product_rule(function, _round_up(largest_variance), products)


@functools.lru_cache(maxsize=256)
def _product_rule(function: Function, variance: float, products: Products) -> ProductRule:
    if function.has_closed_product:
        return None
    if function.kinks:
        return _panel_rule(function, variance)
    return _grid_or_panels(function, variance, products, _PRODUCT_ERROR)


def coarse_rule(function: Function, largest_variance: float, products: Products) -> GridRule | None:
    """A coarser grid for averages over three or four variables, where these are very many; `None` where there is none.

    It would have three digits if all variables were the same one. Where they are not it has many more, for the density of variables that
    differ has no short waves: tensors of tanh came out right to 5e-9 of their largest entries for inputs drawn at random, and to 8e-8 with
    three of them at correlations of 0.9999. It has the points that this variance needs, in one tile: another
    variance takes another program.
    """
    return _rule_in_one_tile(function, _in_quarter_powers(largest_variance), products, _COARSE_ERROR)


def fine_rule(function: Function, largest_variance: float, products: Products) -> GridRule | None:
    """As right as `product_rule`, in one tile: a program of its own for each variance, which runs many times as fast."""
    return _rule_in_one_tile(function, _in_quarter_powers(largest_variance), products, _PRODUCT_ERROR)


def _in_quarter_powers(variance: float) -> float:
    return 2 ** (math.ceil(4 * math.log2(max(variance, 1.0))) / 4)


@functools.lru_cache(maxsize=256)
def _rule_in_one_tile(function: Function, variance: float, products: Products, error: float) -> GridRule | None:
    if function.has_closed_product or function.kinks:
        return None
    nodes = _nodes_needed(function, variance, products, error)
    reach = _COARSE_REACH if error == _COARSE_ERROR else _GRID_REACH
    return None if nodes is None else grid_rule(round(nodes * reach / _GRID_REACH), reach)


def pair_rule(function: Function, largest_variance: float, derivatives: int) -> GridRule | PanelRule | None:
    """The rule for averages of pairs of derivatives up to order `derivatives`."""
    return _pair_rule(function, _round_up(largest_variance), derivatives)


@functools.lru_cache(maxsize=256)
def _pair_rule(function: Function, variance: float, derivatives: int) -> GridRule | PanelRule | None:
    if function.has_closed_pair:
        return None
    if function.kinks:
        return _panel_rule(function, variance)
    return _grid_or_panels(function, variance, tuple((order,) for order in range(derivatives + 1)), _PAIR_ERROR)


def _grid_or_panels(function: Function, variance: float, products: Products, error: float) -> GridRule | PanelRule:
    """As many tiles as this variance needs, of the size that variances up to one need: so programs are the same."""
    small, nodes = (_nodes_needed(function, each, products, error) for each in (1.0, variance))
    if small is None or nodes is None or nodes > _MOST_TILES * small:
        return _panel_rule(function, variance)
    return grid_rule(nodes, _GRID_REACH, tile=small, most=_MOST_TILES)


@functools.lru_cache(maxsize=256)
def _nodes_needed(function: Function, variance: float, products: Products, error: float) -> int | None:
    """The fewest nodes that average every one of the products times every other on one variable: a grid is as good for variables of
    any other correlation."""
    samples = _samples(function, max(map(max, products)), variance)
    factors = [np.prod(samples[list(orders)], axis=0) for orders in products]
    integrands = np.stack([f * g for f, g in itertools.combinations_with_replacement(factors, 2)])
    weights = hermite_table(*_REFERENCE)[1][:, 0]
    exact, scale = integrands @ weights, np.abs(integrands) @ weights
    for nodes, place in _strides(_GRID_REACH):
        if (np.abs(integrands[:, place] @ weights[place] * place.step - exact) <= error * scale).all():
            return nodes
    return None
