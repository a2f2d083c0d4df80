"""Real networks, trained: with all their weights, or lazily at any width."""

from .train import LazyWeights as LazyWeights, TrainedNetworks as TrainedNetworks, train as train
