"""Whether the critical initialisation would be better at this depth: away from it sizes change exponentially with depth, at it by powers,
and over few layers a power can be the larger change."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...advice import tune
from ...critical import Criticality
from ...expansion import tangent_contributions
from ...networks import MLP
from ..inputs import best_mean_square

_AS_LARGE = 2.0  # a factor within which two changes count as one


@dataclass(frozen=True)
class AtThisDepth:
    """By which factors mean squares change over all layers at infinite width, of signals from the first to the last and of gradients on
    their way back: of the network as it is, and tuned."""

    signals: tuple[float, float]
    gradients: tuple[float, float]

    @property
    def no_worse(self) -> bool:
        """Whether neither changes by more than in the tuned network, up or down."""
        return all(_size(own) <= _AS_LARGE * _size(tuned) for own, tuned in (self.signals, self.gradients))


def at_this_depth(net: MLP, verdict: Criticality, first: Float[np.ndarray, "1 n_0"]) -> AtThisDepth | None:
    """For one input, which the tuned network gets at the size that is best for it; `None` where it cannot be tuned."""
    if verdict.point is None:
        return None
    scale = np.sqrt(best_mean_square(verdict.point) / np.mean(first**2)) if verdict.point.K_star else 1.0
    own, tuned = (tangent_contributions(each, x) for each, x in ((net, first), (tune(net), scale * first)))
    signals = tuple(float(each.K[-1, 0, 0] / each.K[0, 0, 0]) for each in (own, tuned))
    gradients = tuple(float(each.chain[0, 0, 0]) for each in (own, tuned))
    return AtThisDepth((signals[0], signals[1]), (gradients[0], gradients[1]))


def of_no_worse(depth: int, found: AtThisDepth, scattered: bool) -> str:
    """The headline of a network that is not critical and would lose by it; `scattered`: networks of its width differ widely."""
    own, tuned = found.gradients
    width = " Networks of this width, drawn alike, differ widely." if scattered else ""
    return (
        f"Not critical, and at this depth no worse for it: over {depth} layers the mean square of gradients changes by a factor of "
        f"{own:.3g}, at the critical point by {tuned:.3g}. With more layers it would be worse: exponentials win.{width}"
    )


def _size(factor: float) -> float:
    return max(factor, 1 / factor) if factor > 0 else np.inf
