"""What networks of finite width have learned when training ends, PDLT chapter ∞."""

from typing import TYPE_CHECKING

from ..._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .algorithm import (
        AlgorithmProjectors as AlgorithmProjectors,
        algorithm_projectors as algorithm_projectors,
    )
    from .finite_prediction import FinitePrediction as FinitePrediction, Trust as Trust
    from .leaps import Leap as Leap, leap as leap, taylor_outputs as taylor_outputs
    from .predict_one import OnePrediction as OnePrediction, predict_one as predict_one

_NAMES = {
    ".algorithm": "AlgorithmProjectors algorithm_projectors",
    ".finite_prediction": "FinitePrediction Trust",
    ".leaps": "Leap leap taylor_outputs",
    ".predict_one": "OnePrediction predict_one",
}
__all__ = _offered(__name__, _NAMES)
