"""Real networks, trained: with all their weights, or lazily at any width."""

from typing import TYPE_CHECKING

from ..._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .train import LazyWeights as LazyWeights, TrainedNetworks as TrainedNetworks, train as train

_NAMES = {
    ".train": "LazyWeights TrainedNetworks train",
}
__all__ = _offered(__name__, _NAMES)
