"""What theory and measurement both return."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .covariance_law import CovarianceLaw as CovarianceLaw, PathStatus as PathStatus
    from .deviations import Deviations as Deviations
    from .feature_law import FeatureLaw as FeatureLaw
    from .flow import Ensemble as Ensemble, Flow as Flow, as_flow as as_flow
    from .groups import (
        Differential as Differential,
        Metric as Metric,
        NextOrder as NextOrder,
        SecondDifferential as SecondDifferential,
        Tangent as Tangent,
    )
    from .measurement import Measurement as Measurement
    from .posterior import Posterior as Posterior, Representation as Representation
    from .prediction import (
        LearningProblem as LearningProblem,
        OutputMoments as OutputMoments,
        Prediction as Prediction,
        Training as Training,
        Trajectory as Trajectory,
        as_prediction as as_prediction,
    )
    from .typical import TypicalNetworks as TypicalNetworks

_NAMES = {
    ".covariance_law": "CovarianceLaw PathStatus",
    ".deviations": "Deviations",
    ".feature_law": "FeatureLaw",
    ".flow": "Ensemble Flow as_flow",
    ".groups": "Differential Metric NextOrder SecondDifferential Tangent",
    ".measurement": "Measurement",
    ".posterior": "Posterior Representation",
    ".prediction": "LearningProblem OutputMoments Prediction Training Trajectory as_prediction",
    ".typical": "TypicalNetworks",
}
__all__ = _offered(__name__, _NAMES)
