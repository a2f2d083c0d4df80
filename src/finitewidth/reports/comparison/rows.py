"""Lines of a comparison of flows."""

from typing import NamedTuple


class Row(NamedTuple):
    """One entry: theory, measurement, and their difference in standard errors (measured minus theory)."""

    quantity: str
    layer: int
    component: str
    theory: float
    measured: float
    standard_error: float
    deviation: float
    trustworthy: bool
    """Whether the standard error can be trusted; otherwise the deviation cannot tell."""


class Summary(NamedTuple):
    """One quantity in one layer: how far its entries are off, and how far noise alone would put the farthest. Entries that
    cannot tell, because their standard errors cannot be trusted, are counted apart; all zeros if none can."""

    quantity: str
    layer: int
    entries: int
    largest: float
    rms: float
    expected_largest: float
    cannot_tell: int
