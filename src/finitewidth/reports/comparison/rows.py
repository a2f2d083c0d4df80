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


class Summary(NamedTuple):
    """One quantity in one layer: how far its entries are off, and how far noise alone would put the farthest."""

    quantity: str
    layer: int
    entries: int
    largest: float
    rms: float
    expected_largest: float
