r"""An activation sampled once along the line, on panels fine enough for averages at every kernel.

Gauss-Legendre panels end at zero, at the kinks, and in equal ratios away from both, so that every Gaussian is resolved
whatever its width; those on which the activation or one of two derivatives is not a polynomial yet are halved.
Where halving has to stop, it is remembered that the average is not to be believed if the Gaussian weighs that place.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from ...activations import Activation
from ...gaussian.derivatives import sampled

REACH = 26.0  # deviations: beyond them is less than 1e-148 of a Gaussian
_NODES, _TAIL = 16, 3  # on each panel, and Legendre coefficients that must be small
_POLYNOMIAL = 1e-8  # what they should be: errors of integrals of squares are of the order of its square
_NOISE, _TRIES = 1e-5, 6  # what they may be after so many halvings: what does not fall then is rounding
_ROUNDING = 1e-6  # of the scale of all derivatives together: one that is smaller is as good as zero
_SMALLEST, _LARGEST = 1e-5, REACH * 1e12  # the first far below one deviation of the narrowest Gaussian
_PER_OCTAVE = 3
_BESIDE_KINKS = 1e-3 * 2.5 ** np.arange(6)  # in units of the kink: far out, a Gaussian falls that fast
_TOO_LARGE = 1e140
_MISSED = 1e-3
_MOST_PANELS, _AT_ONCE = 2500, 100
_NARROWEST, _NEAREST = (
    1e-13,
    1e-24,
)  # width of a panel, relative to its place and at zero: nothing lies between its ends


@dataclass(frozen=True)
class LineSamples:
    r"""Nodes by increasing distance from zero, their weights in $\int dz$, and $\sigma, \sigma', \sigma''$ there.

    `doubt` is a weight too, other than zero where panels do not resolve the activation: what it adds up to may be wrong with
    an average. From the distance `end` on, its square would overflow, or nothing is known: values there are zero.
    """

    z: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    doubt: np.ndarray
    end: float

    def within(self, K: np.ndarray) -> "LineSamples":
        """The nodes that count for these variances."""
        stop = int(np.searchsorted(np.abs(self.z), REACH * math.sqrt(K.max())))
        return LineSamples(self.z[:stop], self.weights[:stop], self.values[:, :stop], self.doubt[:stop], self.end)


@functools.lru_cache(maxsize=32)
def line_samples(activation: Activation) -> LineSamples:
    """Sample, halve what is not resolved, nearest to zero first, and sample again."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    to_tail = (np.arange(_NODES - _TAIL, _NODES) + 0.5) * weights[:, None]
    to_tail = to_tail * np.polynomial.legendre.legvander(nodes, _NODES - 1)[:, -_TAIL:]

    low, high = _first_panels(activation.kinks)
    values, tries = _sample(activation, low, high, nodes), np.zeros(len(low), dtype=int)
    with np.errstate(over="ignore", invalid="ignore"):
        while len(low) < _MOST_PANELS:
            finite = np.isfinite(values).all(axis=(0, 2))
            error = _error(low, high, values, to_tail)
            unresolved = (error > _NOISE) | ((error > _POLYNOMIAL) & (tries < _TRIES))
            coarse = np.flatnonzero(unresolved & finite & ~_narrow(low, high) & ~_at_smooth_zero(activation, low, high))
            if len(coarse) == 0:
                break
            halved = coarse[np.argsort(np.abs(low + high)[coarse])][:_AT_ONCE]
            middle = (low[halved] + high[halved]) / 2
            new_low, new_high = np.concatenate([low[halved], middle]), np.concatenate([middle, high[halved]])
            added = _sample(activation, new_low, new_high, nodes)
            low, high = np.append(np.delete(low, halved), new_low), np.append(np.delete(high, halved), new_high)
            values = np.concatenate([np.delete(values, halved, axis=1), added], axis=1)
            tries = np.append(np.delete(tries, halved), np.tile(tries[halved] + 1, 2))
        doubtful = ~(_error(low, high, values, to_tail) <= _NOISE) & ~_at_smooth_zero(activation, low, high)

    z = (low + high)[:, None] / 2 + (high - low)[:, None] / 2 * nodes
    too_large = ~(np.abs(values) < _TOO_LARGE).all(axis=0)  # true of NaN
    order = np.argsort(np.abs(z), axis=None)
    return LineSamples(
        z.ravel()[order],
        ((high - low)[:, None] / 2 * weights).ravel()[order],
        np.where(too_large, 0.0, values).reshape(len(values), -1)[:, order],
        np.repeat(np.where(doubtful, _doubt(activation, low, high), 0.0), _NODES)[order],
        float(np.abs(z)[too_large].min(initial=_LARGEST)),
    )


def _doubt(activation: Activation, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A panel that is not resolved may hide a delta function: it counts with its distance from zero, not with its width.
    One that was halved to nothing beside a known kink is the end of a power, of which the rule gets all but a little."""
    known = [0.0, *activation.kinks]
    end_of_power = _narrow(low, high) & (np.isin(low, known) | np.isin(high, known))
    return np.where(end_of_power, _MISSED * (high - low), np.abs(low + high) / 2) / _NODES


def _first_panels(kinks: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    octaves = math.log2(_LARGEST / _SMALLEST)
    ladder = _SMALLEST * 2.0 ** np.linspace(0, octaves, round(_PER_OCTAVE * octaves) + 1)
    beside = [kink * (1 + side * _BESIDE_KINKS) for kink in kinks for side in (-1, 1)]
    ends = np.unique(np.concatenate([-ladder, [0.0], ladder, np.asarray(kinks, dtype=float), *beside]))
    return ends[:-1], ends[1:]


def _narrow(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return high - low <= np.maximum(_NARROWEST * np.maximum(np.abs(low), np.abs(high)), _NEAREST)


def _at_smooth_zero(activation: Activation, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The two panels at zero, if it is not a kink: what looks unresolved there is rounding, as of 1 - cos z."""
    return ((low == 0) | (high == 0)) & (0.0 not in activation.kinks)


def _sample(activation: Activation, low: np.ndarray, high: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    z = (low + high)[:, None] / 2 + (high - low)[:, None] / 2 * nodes
    return sampled(activation.value, z.ravel())[:3].reshape(3, *z.shape)


def _error(low: np.ndarray, high: np.ndarray, values: np.ndarray, to_tail: np.ndarray) -> np.ndarray:
    r"""The last Legendre coefficients of $z^k\sigma^{(k)}$ on each panel, relative to what it is there, or nearer to zero,
    where every Gaussian weighs more; NaN where it is not finite."""
    place, width = np.maximum(np.abs(low), np.abs(high)), high - low
    powers = place ** np.arange(3)[:, None] * width
    tails = np.abs(values @ to_tail).max(axis=2) * powers
    largest = np.abs(values).max(axis=2) * powers
    inward = np.argsort(place)
    scale = np.empty_like(largest)
    scale[:, inward] = np.fmax.accumulate(largest[:, inward], axis=1)
    bound = np.maximum(np.maximum(scale, _ROUNDING * scale.max(axis=0)), np.finfo(float).tiny)
    return (tails / bound).max(axis=0)
