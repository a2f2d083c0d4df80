"""`compare`: theory laid over measurement."""

from typing import Any, overload

from ..._arrays import Array
from ..._errors import ArgumentError
from ...results import CovarianceLaw, Flow, Measurement
from .flows import Comparison, compare_flows
from .laws import LawComparison, compare_laws


@overload
def compare(theory: CovarianceLaw, measured: CovarianceLaw) -> LawComparison: ...
@overload
def compare(theory: Flow[Array], measured: Flow[Measurement]) -> Comparison: ...
def compare(theory: Any, measured: Any) -> Comparison | LawComparison:
    """Lay theory over measurement: a table of deviations, a summary, a plot.

    **Arguments:**

    - `theory`: the result of `flow`, through the vertex or the tangent kernel; or that of `covariance_sde`.
    - `measured`: the result of `simulate` for the same network and inputs, or for the same block.

    **Returns:** for flows a [`Comparison`][finitewidth.reports.comparison.flows.Comparison], entry by entry in standard
    errors, of all that both have; for laws of covariances a
    [`LawComparison`][finitewidth.reports.comparison.laws.LawComparison] of quantiles and distances. Print it, or call its
    `plot`.
    """
    if isinstance(theory, CovarianceLaw):
        if not isinstance(measured, CovarianceLaw):
            raise ArgumentError(
                "measured", type(measured).__name__, "a law of covariances: that of `simulate(block, ...)`"
            )
        return compare_laws(theory, measured)
    if not isinstance(theory, Flow) or theory.ensemble is not None:
        got = "a measured flow" if isinstance(theory, Flow) else type(theory).__name__
        raise ArgumentError("theory", got, "the result of `flow` or `covariance_sde`")
    if not isinstance(measured, Flow) or measured.ensemble is None:
        got = "theory" if isinstance(measured, Flow) else type(measured).__name__
        raise ArgumentError("measured", got, "the result of `simulate`")
    return compare_flows(theory, measured)
