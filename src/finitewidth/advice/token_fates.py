"""What becomes of tokens in a deep shaped Transformer, and the shaping under which they survive."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from .._compile import long_run
from .._entry import entry
from .._errors import ArgumentError, DomainError, ShapeError
from .._result import Result
from .._table import Table, columns_of_records
from .._validation import as_covariance, as_floats, as_number
from ..networks.shaped import ShapedBlock
from ..proportional import covariance_sde
from ..results import CovarianceLaw, PathStatus

GROWN = 2.0
LEFT = 1 / 8  # of the differences between tokens: for a correlation of 0.2 at the start, 0.9 at the end
GAMMAS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.9)
TEMPERATURES = (0.25, 0.5, 1.0, 2.0)
_ACCEPTED = 0.05  # share of networks that may go wrong
_LARGEST_START = 0.2  # gamma at the start of the models that the Shaped Transformer paper trains: 0.05 to 0.2
_PATHS = 512
_FAR = 1e3  # times the norm at the start, from where next to no path comes back: it is not followed further


@dataclass(frozen=True, repr=False)
class Fates(Result):
    """Shares of networks that go wrong at the last depth."""

    explosion: float
    """The mean square norm of the tokens has more than doubled, or the path was stopped."""
    vanishing: float
    """It has more than halved."""
    collapse: float
    """The tokens have become one: of the mean of one minus their correlations less than an eighth is left."""

    @property
    def worst(self) -> float:
        """The largest of the three."""
        return max(self.explosion, self.vanishing, self.collapse)


@entry()
def token_fates(law: CovarianceLaw) -> Fates:
    """How many of a law's networks explode, vanish or collapse.

    Examples:
        >>> block = fw.ShapedMLP()
        >>> law = fw.covariance_sde(block, fw.shaped.equal_tokens(2, 0.2), 0.25, paths=8, steps=4)
        >>> fw.advice.token_fates(law).collapse
        0.0
    """
    growth = _mean_square(law.final) / _mean_square(law.V[:, 0])
    stopped = law.status == PathStatus.STOPPED
    correlation = law.correlation()
    start, end = (_differences(correlation[:, depth]) for depth in (0, -1))
    return Fates(
        explosion=float(np.mean(stopped | (growth > GROWN))),
        vanishing=float(np.mean(growth < 1 / GROWN)),
        collapse=float(np.mean(end < LEFT * start)),  # never true of tokens that were one from the start
    )


def _mean_square(V: Float[np.ndarray, "paths m m"]) -> Float[np.ndarray, " paths"]:
    return np.trace(V, axis1=1, axis2=2) / V.shape[-1]


def _differences(correlation: Float[np.ndarray, "paths m m"]) -> Float[np.ndarray, " paths"]:
    a, b = np.triu_indices(correlation.shape[-1], 1)
    return 1 - correlation[:, a, b].mean(axis=1) if len(a) else np.zeros(len(correlation))


@dataclass(frozen=True, repr=False)
class ShapingAdvice(Result):
    """Fates for every weight of the branches and every temperature, together, at one depth over width."""

    gammas: tuple[float, ...]
    temperatures: tuple[float | None, ...]
    """A single `None` for a block without attention."""
    fates: tuple[tuple[Fates, ...], ...]
    """By gamma, then by temperature."""

    def table(self) -> Table:
        """One row for each weight and temperature."""
        pairs = [(gamma, tau0) for gamma in self.gammas for tau0 in self.temperatures]
        tried = {"gamma": np.array([gamma for gamma, _ in pairs])}
        if None not in self.temperatures:
            tried["tau0"] = np.array([tau0 for _, tau0 in pairs])
        fates = columns_of_records(fate for row in self.fates for fate in row)
        safe = {"safe": np.array([self.is_safe(*pair) for pair in pairs])}
        return Table({"recommended (gamma, tau0)": self.recommended}, tried | fates | safe)

    def is_safe(self, gamma: float, tau0: float | None) -> bool:
        """Whether at most one network in twenty explodes, vanishes or collapses."""
        return self.fates[self.gammas.index(gamma)][self.temperatures.index(tau0)].worst <= _ACCEPTED

    def largest_safe_gamma(self, tau0: float | None) -> float | None:
        """The largest gamma up to which, at this temperature, all are safe."""
        unsafe = [gamma for gamma in self.gammas if not self.is_safe(gamma, tau0)]
        return max((gamma for gamma in self.gammas if not unsafe or gamma < min(unsafe)), default=None)

    @property
    def recommended(self) -> tuple[float, float | None] | None:
        """Gamma and temperature to start from: of the temperature nearest to one at which something is safe, the largest safe gamma
        in the range from which trained models start, up to 0.2. `None` if there is none."""
        for tau0 in sorted(self.temperatures, key=lambda tau0: (abs(math.log(tau0)), -tau0) if tau0 else (0.0, 0.0)):
            largest = self.largest_safe_gamma(tau0)
            if largest is not None and min(self.gammas) <= _LARGEST_START:
                return max(gamma for gamma in self.gammas if gamma <= min(largest, _LARGEST_START)), tau0
        return None


@entry()
def recommend_shaping(
    block: ShapedBlock,
    V0: Any,
    depth_to_width: float,
    seed: int = 0,
    gammas: Sequence[float] = GAMMAS,
    temperatures: Sequence[float] | None = None,
) -> ShapingAdvice:
    r"""Which weights $\gamma$ of the branches and which temperatures $\tau_0$ of attention, *together*, keep tokens safe.

    $\gamma^2$ is the speed at which tokens diffuse, and low temperatures drive covariances up: each may be safe alone and both
    together explode. Every pair is followed through the limit of depth in proportion to width.

    **Arguments:**

    - `block`: the block; all but $\gamma$ and $\tau_0$ is kept. One without weighted branches, as `ShapedMLP`, has nothing to recommend.
    - `V0`: the covariance of the input tokens, (m, m).
    - `depth_to_width`: blocks over width.
    - `gammas`, `temperatures`: the values to try. A block without attention has no temperature, and none is recommended to it.

    Examples:
        >>> V0 = fw.shaped.equal_tokens(2, 0.2)
        >>> advice = fw.advice.recommend_shaping(fw.ShapedResNet(0.1), V0, 0.1, gammas=(0.1,))
        >>> advice.recommended
        (0.1, None)
    """
    has_gamma, has_tau0 = (any(hasattr(part, name) for part in block.parts) for name in ("gamma", "tau0"))
    if not has_gamma:
        raise DomainError("block", f"{block!r}, without weighted branches", "a block with a gamma to choose")
    if temperatures is not None and not has_tau0:
        raise ArgumentError("temperatures", f"{temperatures} for a block without attention", "none")
    start = np.asarray(as_covariance(V0, "V0"))
    given = TEMPERATURES if temperatures is None else temperatures
    tried = _positive(gammas, "gammas"), _positive(given, "temperatures") if has_tau0 else (None,)
    radius = _FAR * float(np.linalg.norm(start))

    def fates(gamma: float, tau0: float | None) -> Fates:
        reshaped = block.reshaped(gamma=gamma, tau0=tau0)
        return token_fates(covariance_sde(reshaped, start, depth_to_width, _PATHS, seed, save=1, radius=radius))

    with long_run(True):  # each of them may be a short one
        return ShapingAdvice(*tried, tuple(tuple(fates(gamma, tau0) for tau0 in tried[1]) for gamma in tried[0]))


def _positive(values: Any, argument: str) -> tuple[float, ...]:
    """In order."""
    array = np.asarray(as_floats(values, argument))
    if array.ndim != 1 or not len(array):
        raise ShapeError(argument, f"shape {array.shape}", "a sequence of numbers")
    tiny = float(np.finfo(float).tiny)
    return tuple(sorted(as_number(value, f"{argument}[{i}]", low=tiny) for i, value in enumerate(array.tolist())))
