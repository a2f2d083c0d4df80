"""How many modes and nodes a smooth function needs: measured on the function itself, never guessed.

The function is sampled once on a fine equispaced grid; every coarser rule is a stride of that grid, so that choosing
one costs a few small matrix products.
"""

import functools
import itertools
import math
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._arrays import Array
from .._errors import DomainError
from .function import Function, with_derivatives
from .grid import GridRule
from .hermite import HermiteRule, hermite_table
from .places import KINK_REACH, PanelRule, left_unresolved
from .products import ProductRule

Tree = TypeVar("Tree")

TRACED_VARIANCE = 4.0  # assumed bound on variances that are being traced and cannot be looked at

_GRAM_TAIL, _PRODUCT_TAIL, _PAIR_ERROR = 1e-12, 1e-9, 1e-12
_UNRESOLVED = 1e-6  # in the last coefficients on some panel; averages are better by several digits
_ROUNDING = 1e-13  # sums over a few hundred nodes are no better than this
_FINE_STEP, _REACH = 0.0125, 12.0
_REFERENCE = HermiteRule(order=1025, nodes=2 * round(_REACH / _FINE_STEP) + 1, reach=_REACH)
_STRIDES = (30, 24, 20, 16, 12, 10, 8, 6, 5, 4, 3, 2)
_ORDERS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
_TAIL, _LARGEST_TAIL = 11.0, 1e-9  # deviations beyond which next to nothing of an average may be
_PRODUCT_REACH, _PAIR_REACH = 10.0, 9.0
_COARSEST = (55, 10.125)  # nodes and reach
_MOST_PRODUCT_MODES = 512  # beyond, a tensor of modes no longer beats piecewise quadrature


@functools.lru_cache(maxsize=256)
def _samples(function: Function, derivatives: int, variance: float) -> np.ndarray:
    """The function and its derivatives on the fine grid, shape (derivatives + 1, nodes)."""
    z = math.sqrt(variance) * hermite_table(_REFERENCE)[0]

    @jax.jit
    def evaluate(z: jax.Array) -> jax.Array:
        return jnp.stack(with_derivatives(function, derivatives)(z))

    with jax.ensure_compile_time_eval():
        return np.asarray(evaluate(jnp.asarray(z)))


def check_averages(function: Function, variance: float) -> None:
    """`DomainError` where a function of a Gaussian variable of this variance is not finite, its square has no average, or no
    quadrature resolves it."""
    if function.has_closed_pair or function.has_closed_product:
        return
    u, weights = hermite_table(_REFERENCE)
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
    if not left_unresolved(function.value, function.places, variance) < _UNRESOLVED:
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
    middle, steps = _REFERENCE.nodes // 2, math.ceil(reach / (_FINE_STEP * stride))
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


def _hermite_rule(samples: np.ndarray, tail: float, reach: float, first: int = 0) -> HermiteRule | None:
    """The fewest modes that leave out `tail` of the squared norm, and the fewest nodes that give these modes.

    The norm counts modes from `first` on: covariances do not contain the mean, mode 0, however large it is.
    """
    _, weights = hermite_table(_REFERENCE)
    modes = samples @ weights
    if not np.isfinite(modes).all() or not modes[first:].any():
        return None
    norm = np.linalg.norm(modes[first:])
    left_out = np.append(np.cumsum((modes**2)[::-1])[::-1], 0.0) / norm**2
    needed = int(np.argmax(left_out <= tail))
    order = next((order for order in _ORDERS if order >= needed), None)
    if order is None:
        return None
    for nodes, place in _strides(reach):
        error = samples[place] @ weights[place, :order] * place.step - modes[:order]
        if np.abs(error).max() <= max(tail, _ROUNDING) * norm:
            steps = (nodes - 1) // 2
            return HermiteRule(order, nodes, steps * place.step * _FINE_STEP)
    return None


def _round_up(variance: float) -> float:
    """To the next power of two, or to one: a network whose inputs are rescaled is seldom compiled anew.

    One rule for all variances would do without compiling, but the modes that a function needs grow with the variance.
    """
    return 2.0 ** max(0, math.ceil(math.log2(max(variance, 1.0)) - _ROUNDING))


def gram_rule(function: Function, largest_variance: float, derivatives: int = 0) -> HermiteRule | PanelRule | None:
    """The rule for Gram matrices of a function, or of its derivatives up to an order, too.

    `None` where a closed form needs none; panels for functions with kinks, and where modes would be too many.
    """
    return _gram_rule(function, _round_up(largest_variance), derivatives)


def _panel_rule(variance: float) -> PanelRule:
    """In steps of the length by which panels grow, so that nearby problems share one rule."""
    return PanelRule(8.0 ** max(0, math.ceil(math.log(variance, 64))))


@functools.lru_cache(maxsize=256)
def _gram_rule(function: Function, variance: float, derivatives: int) -> HermiteRule | PanelRule | None:
    if function.has_closed_pair:
        return None
    if function.kinks:
        return _panel_rule(variance)
    samples = _samples(function, derivatives, variance)
    rules = [_hermite_rule(of_order, _GRAM_TAIL, _REACH) for of_order in samples]
    finest = max((rule for rule in rules if rule), key=lambda rule: rule.nodes, default=None)
    if finest is None or not all(rules):
        return _panel_rule(variance)
    return HermiteRule(max(rule.order for rule in rules if rule), finest.nodes, finest.reach, _parity(samples[0]))


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
        return _panel_rule(variance)
    samples = _samples(function, max(map(max, products)), variance)
    multiplied = [np.prod(samples[list(orders)], axis=0) for orders in products]
    fluctuating = [f for f in multiplied if np.ptp(f) > 0]  # a constant, as the slope of a line, needs one mode
    if not fluctuating:
        return HermiteRule(_ORDERS[0], *_COARSEST)
    rules = [_hermite_rule(product, _PRODUCT_TAIL, _PRODUCT_REACH, first=1) for product in fluctuating]
    order = max(rule.order if rule else _MOST_PRODUCT_MODES + 1 for rule in rules)
    if order > _MOST_PRODUCT_MODES:
        return _panel_rule(variance)
    finest = max((rule for rule in rules if rule), key=lambda rule: rule.nodes)
    return HermiteRule(order, finest.nodes, finest.reach)


def pair_rule(function: Function, largest_variance: float, derivatives: int) -> GridRule | PanelRule | None:
    """The rule for averages of pairs of derivatives up to order `derivatives`."""
    return _pair_rule(function, _round_up(largest_variance), derivatives)


@functools.lru_cache(maxsize=256)
def _pair_rule(function: Function, variance: float, derivatives: int) -> GridRule | PanelRule | None:
    if function.has_closed_pair:
        return None
    if function.kinks:
        return _panel_rule(variance)
    samples = _samples(function, derivatives, variance)
    products = np.stack([f * g for f, g in itertools.combinations_with_replacement(samples, 2)])
    weights = hermite_table(_REFERENCE)[1][:, 0]
    exact, scale = products @ weights, np.abs(products) @ weights
    for nodes, place in _strides(_PAIR_REACH):
        if (np.abs(products[:, place] @ weights[place] * place.step - exact) <= _PAIR_ERROR * scale).all():
            return GridRule(nodes, (nodes - 1) // 2 * place.step * _FINE_STEP)
    return _panel_rule(variance)
