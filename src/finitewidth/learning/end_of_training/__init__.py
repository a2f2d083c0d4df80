"""What networks of finite width have learned when training ends, PDLT chapter ∞."""

from .algorithm import (
    AlgorithmProjectors as AlgorithmProjectors,
    algorithm_projectors as algorithm_projectors,
)
