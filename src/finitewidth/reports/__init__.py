"""What theory and networks say, put into tables and pages for people to read."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
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

_NAMES = {
    ".comparison": "Comparison FeatureComparison LawComparison PredictionComparison compare",
    ".recommend": "Recommendation recommend",
    ".report": "Report report",
    ".transformer_report": "TransformerReport transformer_report",
}
__all__ = _offered(__name__, _NAMES)
