"""What theory and networks say, put into tables and pages for people to read."""

from .comparison import (
    Comparison as Comparison,
    FeatureComparison as FeatureComparison,
    LawComparison as LawComparison,
    PredictionComparison as PredictionComparison,
    compare as compare,
)
from .recommend import Recommendation as Recommendation, recommend as recommend
from .report import Report as Report, report as report
from .transformer_report import TransformerReport as TransformerReport, transformer_report as transformer_report
