"""The kernel map of an activation, tabulated over all kernels at which its averages can be believed."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from ..._errors import DomainError
from ...activations import Activation
from .averages import SingleInput, averages_at
from .coefficients import Growth, KernelSeries, kernel_series
from .trust import resolved

LOWEST, HIGHEST = 1e-8, 1e6
_PER_DECADE = 64
_ENTRIES = 14 * _PER_DECADE + 1
_ZOOMS = 5  # each narrows the bracket a thousandfold: from one entry of the table to rounding
_FEWEST_DECADES = 2
_SERIES_MISMATCH = 1e-9


@dataclass(frozen=True)
class KernelTable:
    """Averages at increasing kernels `K`, and the series at zero."""

    activation: Activation
    series: KernelSeries
    K: np.ndarray
    at: SingleInput

    def averages(self, K: np.ndarray) -> SingleInput:
        """Averages at other kernels, in batches as long as the table: one compilation serves any number."""
        batches = max(1, math.ceil(len(K) / _ENTRIES))
        padded = np.pad(K, (0, batches * _ENTRIES - len(K)), constant_values=1.0).reshape(batches, _ENTRIES)
        at = [averages_at(self.activation, jnp.asarray(batch)) for batch in padded]
        return SingleInput(*(np.concatenate(parts)[: len(K)] for parts in zip(*at, strict=True)))

    def interpolated(self, K: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""$g$, $g'$ and $g''$ from the table, to nine digits or so: first guesses for root finders."""
        from scipy.interpolate import CubicHermiteSpline  # almost half a second to load

        x, lattice = np.log(K), np.log(self.K)
        g = CubicHermiteSpline(lattice, self.at.g, self.at.dg * self.K)
        dg = CubicHermiteSpline(lattice, self.at.dg, self.at.ddg * self.K)
        return g(x), dg(x), dg(x, 1) / K

    def growth(self) -> Growth:
        """The first correction at zero; when no power is there (hard tanh), its sign from the table."""
        growth = self.series.growth()
        if growth is not None:
            return growth
        excess = self.at.g / (self.series.A2 * self.K) - 1
        sign = float(np.sign(excess[np.abs(excess) > _SERIES_MISMATCH][0]))
        return Growth(math.inf, sign, sign, 0.0)

    def root(self, difference: Callable[[np.ndarray, SingleInput], np.ndarray], low: float, high: float) -> float:
        """The kernel between `low` and `high` at which `difference` of the averages changes sign."""
        for _ in range(_ZOOMS):
            K = np.linspace(low, high, _ENTRIES)
            values = difference(K, self.averages(K))
            change = int(np.flatnonzero(np.sign(values) != np.sign(values[0]))[0])
            low, high = float(K[change - 1]), float(K[change])
        return (low + high) / 2

    @property
    def reaches_top(self) -> bool:
        """Whether the averages are known up to the largest kernel considered."""
        return bool(self.K[-1] >= HIGHEST * (1 - 1e-9))

    @property
    def scale_invariant(self) -> bool:
        r"""Whether $g(K) = A_2 K$ and $\langle\sigma'^2\rangle_K = A_2$ for all $K$, PDLT (5.64)."""
        A2 = self.series.A2
        if A2 == 0 or self.series.sigma_0 != 0:
            return False
        return bool(np.allclose(self.at.g, A2 * self.K, rtol=1e-9, atol=0) and np.allclose(self.at.s, A2, rtol=1e-9))


def kernel_table(activation: Activation) -> KernelTable:
    """Tabulate, after checking that quadrature and Taylor series tell the same story."""
    K = np.logspace(math.log10(LOWEST), math.log10(HIGHEST), _ENTRIES)
    run = _longest_run(resolved(activation, jnp.asarray(K)))
    if run.stop - run.start < _FEWEST_DECADES * _PER_DECADE:
        raise _unresolved(activation)
    series = kernel_series(activation)
    at = SingleInput(*(np.asarray(part)[run] for part in averages_at(activation, jnp.asarray(K))))
    table = KernelTable(activation, series, K[run], at)
    if run.start == 0 and series.A2 > 0 and series.sigma_0 == 0:
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
        "an activation that varies on a scale of order one, with every point where it or a derivative jumps "
        "declared: Activation(function, kinks=(...,))",
    )
