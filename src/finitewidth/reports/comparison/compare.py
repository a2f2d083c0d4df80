"""`compare`: theory laid over measurement."""

from typing import Any, overload

from ..._arrays import Array
from ..._errors import ArgumentError
from ...results import CovarianceLaw, FeatureLaw, Flow, Measurement, Prediction
from .feature_laws import FeatureComparison, compare_feature_laws
from .flows import Comparison, compare_flows
from .laws import LawComparison, compare_laws
from .predictions import PredictionComparison, compare_predictions


@overload
def compare(theory: CovarianceLaw, measured: CovarianceLaw) -> LawComparison: ...
@overload
def compare(theory: FeatureLaw, measured: FeatureLaw) -> FeatureComparison: ...
@overload
def compare(theory: Flow[Array], measured: Flow[Measurement]) -> Comparison: ...
@overload
def compare(theory: Prediction[Array], measured: Prediction[Measurement]) -> PredictionComparison: ...
def compare(theory: Any, measured: Any) -> Comparison | LawComparison | FeatureComparison | PredictionComparison:
    """Lay theory over measurement: a table of deviations, a summary, a plot.

    **Arguments:**

    - `theory`: the result of `flow`, through the vertex or the tangent kernel; or that of `covariance_sde`,
      of `feature_learning_sde` or of `predict`.
    - `measured`: the result of `simulate` for the same network and inputs, or for the same block; or that of `train` for the same
      network, data and loss.

    **Returns:** for flows a [`Comparison`][finitewidth.reports.comparison.flows.Comparison], entry by entry in standard
    errors, of all that both have; for laws of covariances a
    [`LawComparison`][finitewidth.reports.comparison.laws.LawComparison] of quantiles and distances; for laws
    of features a [`FeatureComparison`][finitewidth.reports.comparison.feature_laws.FeatureComparison] of all fields; for predictions a
    [`PredictionComparison`][finitewidth.reports.comparison.predictions.PredictionComparison] at the moments that both know. Print it,
    or call its `plot`.

    Examples:
        >>> net = fw.MLP("relu", (2, 8, 8, 1), C_W=2.0)
        >>> theory = fw.flow(net, [[1.0, 0.5], [0.3, -1.0]])
        >>> measured = fw.simulate(net, [[1.0, 0.5], [0.3, -1.0]], networks=1000)
        >>> fw.compare(theory, measured).worst.quantity in ("G", "G1", "V")
        True
    """
    if isinstance(theory, Prediction):
        if not isinstance(measured, Prediction):
            raise ArgumentError("measured", type(measured).__name__, "trained networks: the result of `train`")
        return compare_predictions(theory, measured)
    if isinstance(theory, FeatureLaw):
        if not isinstance(measured, FeatureLaw):
            wanted = 'a law of features: that of `simulate(..., through="features")`'
            raise ArgumentError("measured", type(measured).__name__, wanted)
        return compare_feature_laws(theory, measured)
    if isinstance(theory, CovarianceLaw):
        if not isinstance(measured, CovarianceLaw):
            raise ArgumentError(
                "measured", type(measured).__name__, "a law of covariances: that of `simulate(block, ...)`"
            )
        return compare_laws(theory, measured)
    if not isinstance(theory, Flow) or theory.ensemble is not None:
        got = "a measured flow" if isinstance(theory, Flow) else type(theory).__name__
        raise ArgumentError(
            "theory", got, "the result of `flow`, `covariance_sde`, `feature_learning_sde` or `predict`"
        )
    if not isinstance(measured, Flow) or measured.ensemble is None:
        got = "theory" if isinstance(measured, Flow) else type(measured).__name__
        raise ArgumentError("measured", got, "the result of `simulate`")
    return compare_flows(theory, measured)
