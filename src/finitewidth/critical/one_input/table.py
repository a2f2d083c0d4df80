"""The kernel map of an activation, tabulated over all kernels at which its averages can be believed."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from ..._errors import DomainError
from ...activations import Activation, ScaleInvariant
from ...activations.families import ExponentialSum
from .averages import SingleInput, averages_at
from .coefficients import Growth, KernelSeries, is_straight, series_at_zero
from .sampled_averages import LOWEST_SHARED, NEGLIGIBLE, believable, sampled_averages
from .trust import resolved

LOWEST, HIGHEST = LOWEST_SHARED, 1e6
_PER_DECADE = 64
_ENTRIES = 14 * _PER_DECADE + 1
_ZOOMS, _ZOOM = 9, 65  # each narrows the bracket 64-fold: from one entry of the table to rounding
_FEWEST_DECADES = 2
_SERIES_MISMATCH = 1e-9
_VISIBLE = 1e-7  # correction at small kernels that is beyond rounding


@dataclass(frozen=True)
class KernelTable:
    """Averages at increasing kernels `K`, and the series at zero."""

    activation: Activation
    series: KernelSeries
    K: np.ndarray
    at: SingleInput

    def averages(self, K: np.ndarray) -> SingleInput:
        """Averages at other kernels."""
        if not _has_closed_averages(self.activation):
            return sampled_averages(self.activation, K)
        # In batches as long as the table: one compilation serves any number.
        batches = max(1, math.ceil(len(K) / _ENTRIES))
        padded = np.pad(K, (0, batches * _ENTRIES - len(K)), constant_values=1.0).reshape(batches, _ENTRIES)
        at = [averages_at(self.activation, jnp.asarray(batch)) for batch in padded]
        return SingleInput(*(np.concatenate(parts)[: len(K)] for parts in zip(*at, strict=True)))

    def believes(self, K: float) -> bool:
        """Whether averages at another kernel can be believed."""
        return bool(_believable(self.activation, np.array([K])).all())

    def interpolated(self, K: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""$g$, $g'$ and $g''$ from the table, to nine digits or so: first guesses for root finders."""
        from scipy.interpolate import CubicHermiteSpline  # almost half a second to load

        x, lattice = np.log(K), np.log(self.K)
        g = CubicHermiteSpline(lattice, self.at.g, self.at.dg * self.K)
        dg = CubicHermiteSpline(lattice, self.at.dg, self.at.ddg * self.K)
        return g(x), dg(x), dg(x, 1) / K

    def growth(self) -> Growth:
        """The first correction at zero: from the series, or measured where that has none (hard tanh, $z + |z|^{3/2}$)."""
        growth = self.series.growth()
        if growth is not None:
            return growth
        excess, of_slope = self.at.g / (self.series.A2 * self.K) - 1, self.at.s / self.series.A2 - 1
        first = int(np.argmax(np.abs(excess) > (_SERIES_MISMATCH if is_straight(self.activation) else _VISIBLE)))
        if is_straight(self.activation):
            sign = float(np.sign(excess[first]))
            return Growth(math.inf, sign, sign, 0.0)
        return _measured_growth(self.K[first:], excess[first:], of_slope[first:])

    def root(self, difference: Callable[[np.ndarray, SingleInput], np.ndarray], low: float, high: float) -> float:
        """The kernel between `low` and `high` at which `difference` of the averages changes sign."""
        for _ in range(_ZOOMS):
            K = np.linspace(low, high, _ZOOM)
            values = difference(K, self.averages(K))
            change = int(np.flatnonzero(np.sign(values) != np.sign(values[0]))[0])
            low, high = float(K[change - 1]), float(K[change])
        return (low + high) / 2

    @property
    def sloped(self) -> np.ndarray:
        """At which kernels the slope is felt at all: the activation may be flat as far as a Gaussian reaches."""
        return self.is_felt(self.at.s)

    def is_felt(self, squared_slope: np.ndarray) -> np.ndarray:
        """Whether a squared slope is more than nothing, in units of the activation."""
        return squared_slope > NEGLIGIBLE * self.series.unit**2

    @property
    def reaches_top(self) -> bool:
        """Whether the averages are known up to the largest kernel considered."""
        return bool(self.K[-1] >= HIGHEST * (1 - 1e-9))

    @property
    def scale_invariant(self) -> bool:
        r"""Whether $g(K) = A_2 K$ and $\langle\sigma'^2\rangle_K = A_2$ for all $K$, PDLT (5.64)."""
        A2 = self.series.A2
        if not 0 < A2 < math.inf or self.series.sigma_0 != 0:
            return False
        return all(np.allclose(part, A2, rtol=1e-9, atol=0) for part in (self.at.g / self.K, self.at.s))


def _has_closed_averages(activation: Activation) -> bool:
    return isinstance(activation, ScaleInvariant | ExponentialSum)


def _believable(activation: Activation, K: np.ndarray) -> np.ndarray:
    return resolved(activation, jnp.asarray(K)) if _has_closed_averages(activation) else believable(activation, K)


def _measured_growth(K: np.ndarray, excess: np.ndarray, of_slope: np.ndarray) -> Growth:
    """A power law through kernels a decade apart, the smallest at which it can be seen, extrapolated to zero."""
    power, power_of_slope = (_power_at_zero(part) for part in (excess, of_slope))
    first = float(np.sign(of_slope[0])) if power_of_slope < power - 0.05 else 0.0
    return Growth(power, float(excess[0] / K[0] ** power), float(of_slope[0] / K[0] ** power), first)


def _power_at_zero(values: np.ndarray) -> float:
    near, middle, far = np.diff(np.log10(np.abs(values[: 4 * _PER_DECADE : _PER_DECADE])))
    change = (near - middle) - (middle - far)
    return float(near - (near - middle) ** 2 / change if abs(change) > 1e-9 else near)


@functools.lru_cache(maxsize=32)
def kernel_table(activation: Activation) -> KernelTable:
    """Tabulate, after checking that quadrature and Taylor series tell the same story."""
    K = np.logspace(math.log10(LOWEST), math.log10(HIGHEST), _ENTRIES)
    run = _longest_run(_believable(activation, K))
    if run.stop - run.start < _FEWEST_DECADES * _PER_DECADE:
        raise _unresolved(activation)
    series = series_at_zero(activation)
    unfilled = KernelTable(activation, series, K[run], SingleInput(*[np.empty(0)] * 6))
    at = unfilled.averages(K[run])
    table = KernelTable(activation, series, K[run], at)
    if run.start == 0 and series.complete and series.A2 > 0 and series.sigma_0 == 0:
        lowest = table.K[0]
        powers = lowest ** (np.arange(len(series.mean_square)) / 2 - 1)
        expected = float(series.mean_square[3:] @ powers[3:]) / series.A2
        measured = float(at.g[0]) / (series.A2 * lowest) - 1
        if abs(measured - expected) > _SERIES_MISMATCH + 0.1 * abs(expected):
            raise _unresolved(activation)
    return table


def _longest_run(mask: np.ndarray) -> slice:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    starts, stops = edges[::2], edges[1::2]
    if len(starts) == 0:
        return slice(0, 0)
    longest = int(np.argmax(stops - starts))
    return slice(int(starts[longest]), int(stops[longest]))


def _unresolved(activation: Activation) -> DomainError:
    return DomainError(
        "activation",
        f"{activation.name!r}, whose Gaussian averages cannot be resolved",
        "an activation that neither oscillates much faster than on a scale of order one, nor grows as fast as exp(z^2), nor is "
        "almost as steep as a square root somewhere, with every point where it or a derivative jumps declared: "
        "Activation(function, kinks=(...,))",
    )
