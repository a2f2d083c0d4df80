r"""Around which points, and on what scale, a function varies: measured on the function itself, never guessed.

Quadratures put their panels around *places*: kinks, and points where a smooth function is steep. Panels grow from the `scale`
of the function in equal ratios away from every place. Both are found by halving panels until sixteen nodes resolve each of
them; what is left of the finest ones are the places.
"""

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from .._arrays import Array
from .derivatives import evaluated

OWN_SCALE = 1.5  # tanh, erf, a Gaussian bump: functions of scale one are resolved on panels of this length
KINK_REACH = 40.0  # as far as kinks, and steep places, are looked for
REACH = 9.0  # standard deviations to which averages of pairs are taken: exp(-9**2 / 2) = 3e-18
PAIR_NODES = 20  # on each of their panels
_NODES = 16
_HALVINGS = 14
_MOST_STEEP = 4
_HUGE = 1e15  # times its size around zero: growth so fast that no average reaches there
_TAIL, _ROUNDING = 1e-9, 1e-12  # of a panel's largest value, and of the function's: what a series may leave out
_PROBES = 128  # of a panel of first length, between the nodes: bumps wider than about a hundredth are seen
_SEEN = 1e-7  # a difference there that is no rounding
_FEWEST_RUNGS, _GROWTH = 3, 8.0
_NEAR_ZERO = 1024  # points at which the size of a function is taken


@jax.tree_util.register_static
@dataclass(frozen=True)
class PanelRule:
    """Panels around places, as far as variables of a deviation go: a static setting, chosen from the largest variance, and the same
    for most of them. Points beyond `reach` do not matter."""

    deviation: float = 1.0
    reach: float = math.inf
    finer: int = 0
    """More rungs than most functions need: for those that oscillate far from their places."""


@dataclass(frozen=True)
class Places:
    """Points around which a function varies on a `scale`, zero where nothing stands out. `rungs` panels, each longer than
    the one before, lead from the scale to the tails."""

    points: tuple[float, ...] | Float[Array, " t"] = (0.0,)
    scale: float = OWN_SCALE
    rungs: int = _FEWEST_RUNGS

    @property
    def array(self) -> Float[Array, " t"]:
        """The points as an array."""
        return jnp.asarray(self.points, dtype=float)

    def at(self, points: Float[Array, " t"]) -> "Places":
        """Other points, the same scale."""
        return replace(self, points=points)

    def at_hand(self) -> "Places":
        """For averages over a fraction of a deviation, which do not reach as far."""
        return replace(self, rungs=self.rungs - _FEWEST_RUNGS + 1)

    def reaching(self, rule: PanelRule | None) -> "Places":
        """With as many rungs as this rule's variables need, and without the points that they do not reach."""
        if rule:
            within = tuple(point for point in self.points if abs(point) <= rule.reach)
            return replace(self, points=within or (0.0,), rungs=self._rungs(rule.deviation) + rule.finer)
        return replace(self, rungs=self._rungs(1.0))

    def _rungs(self, deviation: float) -> int:
        ranges = OWN_SCALE / self.scale, max(1.0, deviation / _GROWTH)
        return _FEWEST_RUNGS + sum(math.ceil(math.log(each, _GROWTH) - 1e-9) for each in ranges)


@functools.lru_cache(maxsize=512)
def find_places(value: Callable[[Array], Array], kinks: tuple[float, ...]) -> Places:
    """The places of a function that is analytic but for its `kinks`."""
    known = sorted({0.0, *(kink for kink in kinks if abs(kink) < KINK_REACH)})
    low, high = _first_panels([-KINK_REACH, *known, KINK_REACH])
    size = np.abs(evaluated(value, np.linspace(-2 * OWN_SCALE, 2 * OWN_SCALE, _NEAR_ZERO))).max()
    finished: list[np.ndarray] = []
    for halvings in range(_HALVINGS):
        good = _resolved(value, low, high, size)
        good[good] = ~_hides_something(value, low[good], high[good], size, _PROBES >> halvings)
        finished.append(np.stack([low, high], axis=1)[good])
        middle = ((low + high) / 2)[~good]
        low, high = np.concatenate([low[~good], middle]), np.concatenate([middle, high[~good]])
        if len(low) == 0:
            break
    else:
        finished.append(np.stack([low, high], axis=1))
    panels = np.concatenate(finished)
    panels = panels[np.argsort(panels[:, 0])]
    width = np.diff(panels, axis=1)[:, 0]
    runs = _finest_runs(width)
    if not runs:
        return Places(kinks or (0.0,))
    # A function that is steep in many places oscillates: no panels around a few of them will do, as `unresolved` finds.
    steep = [_place(panels[run], known) for run in runs] if len(runs) <= _MOST_STEEP else []
    return Places(tuple(sorted({*kinks, *steep})) or (0.0,), float(width.min()))


def left_unresolved(value: Callable[[Array], Array], places: Places, variance: float, finer: int = 0) -> float:
    """The part of a function, times the density of a Gaussian variable, that panels around these places do not see: more than the
    relative error of its averages."""
    deviation = math.sqrt(variance)
    reach = REACH * deviation
    places = places.reaching(PanelRule(deviation, reach, finer))
    near = min(places.scale, reach)
    ladder = near * (reach / near) ** (np.arange(places.rungs) / places.rungs)
    steps = np.concatenate([-ladder, [0.0], ladder])
    ends = np.concatenate([np.add.outer(np.asarray(places.points), steps).ravel(), np.array([-3, 0, 3]) * deviation])
    ends = np.unique(np.clip(np.concatenate([ends, [-reach, reach]]), -reach, reach))
    low, width = ends[:-1], np.diff(ends)
    x, transform = legendre_transform(PAIR_NODES)
    z = low[:, None] + width[:, None] * x
    integrand = evaluated(value, z) * np.exp(-(z**2) / (2 * variance))
    with np.errstate(all="ignore"):
        tail = np.abs(integrand @ transform)[:, -2:].max(axis=1)
        whole = np.sum(np.abs(integrand) * width[:, None]) / PAIR_NODES
        return float(np.sum(tail * width) / whole) if whole > 0 else 0.0


def _first_panels(ends: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Panels of the scale of well-behaved functions between all neighbouring ends."""
    gaps = itertools.pairwise(ends)
    cuts = [np.linspace(a, b, 1 + math.ceil((b - a) / OWN_SCALE)) for a, b in gaps if b > a]
    return np.concatenate([c[:-1] for c in cuts]), np.concatenate([c[1:] for c in cuts])


@functools.cache
def legendre_transform(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes on [0, 1] and the matrix that turns values there into coefficients, largest value one."""
    x, weights = np.polynomial.legendre.leggauss(nodes)
    degrees = np.arange(nodes)
    return (x + 1) / 2, weights[:, None] * np.polynomial.legendre.legvander(x, nodes - 1) * (degrees + 0.5)


def _resolved(
    value: Callable[[Array], Array], low: np.ndarray, high: np.ndarray, size: float
) -> Bool[np.ndarray, " p"]:
    """Panels on which the series has converged, or that no average reaches."""
    x, transform = legendre_transform(_NODES)
    values = evaluated(value, low[:, None] + (high - low)[:, None] * x)
    with np.errstate(all="ignore"):
        tail = np.abs(values @ transform)[:, -3:].max(axis=1)
        good = tail <= np.maximum(_TAIL * np.abs(values).max(axis=1), _ROUNDING * size)
        return good | ~(np.abs(values).max(axis=1) < _HUGE * size)


def _hides_something(
    value: Callable[[Array], Array], low: np.ndarray, high: np.ndarray, size: float, probes: int
) -> Bool[np.ndarray, " p"]:
    """Panels on which the series that has converged is not the function: a narrow bump between the nodes."""
    x, transform = legendre_transform(_NODES)
    if probes <= _NODES or len(low) == 0:
        return np.zeros(len(low), dtype=bool)
    between = (np.arange(probes) + 0.5) / probes
    series = transform @ np.polynomial.legendre.legvander(2 * between - 1, _NODES - 1).T
    points = np.concatenate([x, between])
    values = evaluated(value, low[:, None] + (high - low)[:, None] * points)
    with np.errstate(all="ignore"):
        missed = np.abs(values[:, :_NODES] @ series - values[:, _NODES:]).max(axis=1)
        reached = np.abs(values).max(axis=1) < _HUGE * size
        return reached & (missed > np.maximum(_SEEN * np.abs(values).max(axis=1), _SEEN * size))


def _finest_runs(width: np.ndarray) -> list[slice]:
    """Runs of panels of equal length whose neighbours on both sides are longer, if they are shorter than at first."""
    level = np.round(np.log2(OWN_SCALE / width)).astype(int)  # at first 0, or 1 for a gap that is cut in two
    starts = np.flatnonzero(np.diff(level, prepend=-1) != 0)
    stops = np.append(starts[1:], len(level))
    padded = np.concatenate([[0], level[starts], [0]])
    finest = (padded[1:-1] > np.maximum(padded[:-2], 1)) & (padded[1:-1] > padded[2:])
    return [slice(a, b) for a, b in zip(starts[finest], stops[finest], strict=True)]


def _place(run: Float[np.ndarray, "panels 2"], known: list[float]) -> float:
    """The known point in the middle half of a run of panels, else its centre."""
    low, high = run[0, 0], run[-1, 1]
    centre = float((low + high) / 2)
    inside = [point for point in known if abs(point - centre) <= (high - low) / 4]
    return min(inside, key=abs) if inside else centre
