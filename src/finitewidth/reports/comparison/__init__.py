"""Theory laid over measurement, and one law over another: the verb, what it finds, and how that reads."""

from typing import TYPE_CHECKING

from ..._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .compare import compare as compare
    from .feature_laws import FeatureComparison as FeatureComparison
    from .flows import Comparison as Comparison
    from .laws import LawComparison as LawComparison
    from .predictions import PredictionComparison as PredictionComparison

_NAMES = {
    ".compare": "compare",
    ".feature_laws": "FeatureComparison",
    ".flows": "Comparison",
    ".laws": "LawComparison",
    ".predictions": "PredictionComparison",
}
__all__ = _offered(__name__, _NAMES)
