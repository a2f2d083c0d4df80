r"""One input through a smooth shaped network: $dX = bX(X-1)\,dt + \sqrt2X\,dB$ (lecture 17), solved.

$1/X$ obeys a linear equation, so that every path is explicit,

$$X_t = \frac{x_0E_t}{1 - b\,x_0\int_0^tE_s\,ds},\qquad E_s = \exp(\sqrt2B_s - (b+1)s),$$

and $X$ blows up where the denominator vanishes. For $b \le 0$ it never does.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy
from jaxtyping import Float

from .._entry import entry
from .._errors import ArgumentError, DomainError
from .._result import Result
from .._table import Table, table_of_paths
from .._validation import as_count, as_number
from ..networks.shaped import ShapedSmooth

_LARGEST_EXPONENT = 300.0  # such numbers may still be multiplied


class _ScalarPaths(NamedTuple):
    times: Float[np.ndarray, " times"]
    X: Float[np.ndarray, "paths times"]
    """The norms; infinite from the time of blow-up on."""
    blow_up_times: Float[np.ndarray, " paths"]
    """When each path blew up; infinite for those that did not."""


class ScalarPaths(Result, _ScalarPaths):
    """Sampled norms."""

    def table(self) -> Table:
        """One row for each path and depth time."""
        blown_up = {"blown up": f"{np.mean(np.isfinite(self.blow_up_times)):.3g} of the paths"}
        return Table(blown_up, table_of_paths(self.times, {"X": self.X}).columns)


@dataclass(frozen=True)
class ScalarSmooth:
    """The norm of one input, with the strength `b` of its drift; `scalar_smooth` makes it from an activation."""

    b: float

    def noiseless(self, x0: float, t: Any) -> Float[np.ndarray, "..."]:
        r"""$\dot X = bX(X-1)$: the logistic $x_0/(x_0 + (1-x_0)e^{bt})$, infinite from its blow-up on."""
        x0, t = _positive(x0, "x0"), np.asarray(t, dtype=float)
        alive = t < self.noiseless_blow_up_time(x0)
        return np.where(alive, x0 / np.where(alive, x0 + (1 - x0) * np.exp(self.b * t), 1.0), np.inf)

    def noiseless_blow_up_time(self, x0: float) -> float:
        r"""$t^* = \tfrac1b\log\tfrac{x_0}{x_0-1}$ for $b > 0$, $x_0 > 1$; infinite otherwise."""
        x0 = _positive(x0, "x0")
        return -math.log1p(-1 / x0) / self.b if self.b > 0 and x0 > 1 else math.inf

    def blow_up_probability(self, x0: float) -> float:
        r"""The regularised lower incomplete gamma function $P(b+1, b\,x_0)$ for $b > 0$; otherwise zero.
        Paths that do not blow up tend to zero."""
        return float(scipy.special.gammainc(self.b + 1, self.b * _positive(x0, "x0"))) if self.b > 0 else 0.0

    def stationary(self) -> Any:
        r"""The Gamma law of shape $|b| - 1$ and rate $|b|$, as a frozen `scipy.stats` distribution.

        It exists only for $b < -1$: for $-1 \le b \le 0$ the norm does not explode but vanishes."""
        if not self.b < -1:
            raise DomainError("b", self.b, "b < -1: otherwise the norm vanishes or explodes, and no law is stationary")
        from scipy import stats  # half a second to load

        return stats.gamma(-self.b - 1, scale=-1 / self.b)

    def mean_inverse(self, x0: float, t: float) -> float:
        r"""$E[1/X_t] = (\tfrac1{x_0} - \tfrac b{b+2})e^{(b+2)t} + \tfrac b{b+2}$, for $b \le 0$."""
        x0, t = _positive(x0, "x0"), as_number(t, "t", low=0.0)
        if self.b > 0:
            raise DomainError("b", self.b, "b <= 0: otherwise paths blow up")
        rate = self.b + 2
        try:
            growth = math.expm1(rate * t) / rate if rate else t
            return math.exp(rate * t) / x0 - self.b * growth
        except OverflowError:
            raise DomainError(
                "t", t, f"a depth at which E[1/X], growing as e^({rate:g} t), is a finite number"
            ) from None

    def sample(
        self, x0: float, depth_to_width: float, paths: int = 4096, steps: int = 400, seed: int = 0
    ) -> ScalarPaths:
        r"""Paths by the explicit solution; only the integral over each step is approximated, with $e^{\sqrt2B}$ linear in it."""
        x0, time = _positive(x0, "x0"), _positive(depth_to_width, "depth_to_width")
        paths, steps = as_count(paths, "paths"), as_count(steps, "steps")
        random = np.random.default_rng(as_count(seed, "seed", at_least=0))
        times = np.linspace(0.0, time, steps + 1)
        increments = math.sqrt(2 * time / steps) * random.standard_normal((paths, steps))
        X, blow_up_times = np.full((steps + 1, paths), x0), np.full(paths, np.inf)
        for number, increment in enumerate(increments.T):
            X[number + 1], part = self._step(X[number], time / steps, increment)
            now = np.isinf(X[number + 1]) & np.isinf(blow_up_times)
            blow_up_times[now] = times[number] + part[now] * (time / steps)
        return ScalarPaths(times, X.T, blow_up_times)

    def _step(self, X: np.ndarray, step: float, increment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""The explicit solution over one step, so that $E$ never overflows: the norm after it and, if that is infinite, the
        part of the step in which the denominator fell to zero."""
        decay = min(max((self.b + 1) * step, -_LARGEST_EXPONENT), _LARGEST_EXPONENT)
        noise = np.exp(-np.clip(increment, -_LARGEST_EXPONENT, _LARGEST_EXPONENT))
        inverse = math.exp(decay) * noise  # 1/E
        first, last = _weights(decay)
        blown = np.isinf(X)
        X = np.where(blown, 0.0, X)
        loss = self.b * X * step * (first * noise + last)
        blown |= inverse <= loss
        return (
            np.where(blown, np.inf, X / np.where(blown, 1.0, inverse - loss)),
            np.where(blown, inverse / np.where(loss > 0, loss, 1.0), 1.0),
        )


def _weights(decay: float) -> tuple[float, float]:
    r"""$\int_0^1e^{zu}u\,du$ and $\int_0^1e^{zu}(1-u)\,du$, $z$ = `decay`: the weights of a step's start and end, its time $u$
    being counted back from the end."""
    if abs(decay) < 1e-3:
        return 1 / 2 + decay / 3 + decay**2 / 8, 1 / 2 + decay / 6 + decay**2 / 24
    whole = math.expm1(decay) / decay
    end = (whole - 1) / decay
    return whole - end, end


@entry()
def scalar_smooth(activation: ShapedSmooth) -> ScalarSmooth:
    r"""$b = \tfrac1{a^2}(\tfrac34\phi_2^2 + \phi_3)$: the norm grows with curvature and shrinks with saturation (lecture 17,
    with its $a^{-2}$ restored).

    Examples:
        >>> fw.proportional.scalar_smooth(fw.shaped.shaped_smooth("tanh")).b
        -2.0
    """
    if not isinstance(activation, ShapedSmooth):
        raise ArgumentError("activation", repr(activation), "a smooth shaped activation, `shaped_smooth(...)`")
    return ScalarSmooth((0.75 * activation.phi2**2 + activation.phi3) / activation.a**2)


def _positive(value: float, argument: str) -> float:
    number = as_number(value, argument, low=0.0)
    if number == 0:
        raise DomainError(argument, number, "a positive number")
    return number
