"""What theory and networks say, put into tables and pages for people to read."""

from .compare import Comparison as Comparison, compare as compare
from .compare_laws import LawComparison as LawComparison
from .report import Report as Report, report as report
from .transformer_report import (
    TransformerConfig as TransformerConfig,
    TransformerReport as TransformerReport,
    transformer_report as transformer_report,
)
