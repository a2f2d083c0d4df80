"""The proportional limit: depth in proportion to width, where covariances stay random."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .correlation import (
        CorrelationPaths as CorrelationPaths,
        correlation_coefficients as correlation_coefficients,
        correlation_sde as correlation_sde,
    )
    from .covariance_sde import covariance_sde as covariance_sde
    from .features.feature_learning_sde import feature_learning_sde as feature_learning_sde
    from .features.ntk_law import TangentLaw as TangentLaw, ntk_law as ntk_law
    from .linear import (
        Normal as Normal,
        finite_log_determinant as finite_log_determinant,
        log_determinant as log_determinant,
        log_norm as log_norm,
        sample_finite_log_determinant as sample_finite_log_determinant,
        second_moments as second_moments,
    )
    from .regimes import (
        Regime as Regime,
        collapse as collapse,
        drift_ode as drift_ode,
        fluctuation as fluctuation,
        scaling_regime as scaling_regime,
        unshaped_relu_collapse as unshaped_relu_collapse,
    )
    from .residual_limit import residual_ode as residual_ode
    from .scalar_smooth import ScalarPaths as ScalarPaths, ScalarSmooth as ScalarSmooth, scalar_smooth as scalar_smooth
    from .weak_error import StepAdvice as StepAdvice, step_advice as step_advice

_NAMES = {
    ".correlation": "CorrelationPaths correlation_coefficients correlation_sde",
    ".covariance_sde": "covariance_sde",
    ".features.feature_learning_sde": "feature_learning_sde",
    ".features.ntk_law": "TangentLaw ntk_law",
    ".linear": "Normal finite_log_determinant log_determinant log_norm sample_finite_log_determinant second_moments",
    ".regimes": "Regime collapse drift_ode fluctuation scaling_regime unshaped_relu_collapse",
    ".residual_limit": "residual_ode",
    ".scalar_smooth": "ScalarPaths ScalarSmooth scalar_smooth",
    ".weak_error": "StepAdvice step_advice",
}
__all__ = _offered(__name__, _NAMES)
