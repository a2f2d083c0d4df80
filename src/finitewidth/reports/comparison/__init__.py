"""Theory laid over measurement, and one law over another: the verb, what it finds, and how that reads."""

from .compare import compare as compare
from .feature_laws import FeatureComparison as FeatureComparison
from .flows import Comparison as Comparison
from .laws import LawComparison as LawComparison
from .predictions import PredictionComparison as PredictionComparison
