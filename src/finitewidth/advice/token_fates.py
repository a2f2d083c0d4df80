"""What becomes of tokens in a deep shaped Transformer, and the shaping under which they survive."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from .._entry import entry
from ..networks.shaped import ShapedBlock
from ..proportional import covariance_sde
from ..results import CovarianceLaw, PathStatus

GROWN = 2.0
LEFT = 1 / 8  # of the differences between tokens: for a correlation of 0.2 at the start, 0.9 at the end
GAMMAS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)
TEMPERATURES = (0.25, 0.5, 1.0, 2.0, 4.0)
_ACCEPTED = 0.05  # share of networks that may go wrong
_PATHS = 512
_FAR = 1e3  # times the norm at the start, from where next to no path comes back: it is not followed further


@dataclass(frozen=True)
class Fates:
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


def token_fates(law: CovarianceLaw) -> Fates:
    """How many of a law's networks explode, vanish or collapse."""
    growth = _mean_square(law.final) / _mean_square(law.V[:, 0])
    stopped = law.status == PathStatus.STOPPED
    start, end = (_differences(law.correlation()[:, depth]) for depth in (0, -1))
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


@dataclass(frozen=True)
class ShapingAdvice:
    """Fates over a range of one parameter, and the value to choose; `None` if none will do."""

    parameter: str
    values: tuple[float, ...]
    fates: tuple[Fates, ...]
    chosen: float | None


@entry()
def recommend_gamma(
    block_of: Callable[[float], ShapedBlock], V0: Float[np.ndarray, "m m"], depth_to_width: float, seed: int = 0
) -> ShapingAdvice:
    r"""The largest weight $\gamma$ of the branches under which at most one network in twenty explodes, vanishes or collapses:
    the more a branch weighs, the more the network computes, and $\gamma^2$ is the speed at which tokens diffuse."""
    fates = _scan(block_of, GAMMAS, V0, depth_to_width, seed)
    good = [gamma for gamma, fate in zip(GAMMAS, fates, strict=True) if fate.worst <= _ACCEPTED]
    return ShapingAdvice("gamma", GAMMAS, fates, max(good, default=None))


@entry()
def recommend_tau0(
    block_of: Callable[[float], ShapedBlock], V0: Float[np.ndarray, "m m"], depth_to_width: float, seed: int = 0
) -> ShapingAdvice:
    r"""The lowest temperature $\tau_0$ under which at most one network in twenty explodes, vanishes or collapses: low
    temperatures let attention attend, and drive covariances up."""
    fates = _scan(block_of, TEMPERATURES, V0, depth_to_width, seed)
    good = [tau0 for tau0, fate in zip(TEMPERATURES, fates, strict=True) if fate.worst <= _ACCEPTED]
    return ShapingAdvice("tau0", TEMPERATURES, fates, min(good, default=None))


def _scan(
    block_of: Callable[[float], ShapedBlock],
    values: Sequence[float],
    V0: Float[np.ndarray, "m m"],
    depth_to_width: float,
    seed: int,
) -> tuple[Fates, ...]:
    def law(block: ShapedBlock) -> CovarianceLaw:
        radius = _FAR * float(np.linalg.norm(V0))
        return covariance_sde(block, V0, depth_to_width, _PATHS, seed, save=1, radius=radius)

    return tuple(token_fates(law(block_of(value))) for value in values)
