"""The proportional limit: depth in proportion to width, where covariances stay random."""

from ..networks.shaped import CovarianceLaw as CovarianceLaw, PathStatus as PathStatus
from .correlation import correlation_coefficients as correlation_coefficients, correlation_sde as correlation_sde
from .covariance_sde import covariance_sde as covariance_sde
from .regimes import Regime as Regime, drift_ode as drift_ode, scaling_regime as scaling_regime
from .residual_limit import residual_ode as residual_ode
from .scalar_smooth import ScalarSmooth as ScalarSmooth, scalar_smooth as scalar_smooth
from .weak_error import StepAdvice as StepAdvice, step_advice as step_advice
