"""Models that are quadratic in their parameters, the least that learns features, PDLT section 11.4."""

from typing import TYPE_CHECKING

from ..._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .complexity import (
        FeatureCount as FeatureCount,
        PolynomialFit as PolynomialFit,
        couplings_at_order as couplings_at_order,
        feature_count as feature_count,
        polynomial_fit as polynomial_fit,
    )
    from .model import (
        QuadraticFit as QuadraticFit,
        QuadraticModel as QuadraticModel,
        quadratic_regression as quadratic_regression,
    )
    from .nearly_kernel import NearlyKernel as NearlyKernel, nearly_kernel as nearly_kernel

_NAMES = {
    ".complexity": "FeatureCount PolynomialFit couplings_at_order feature_count polynomial_fit",
    ".model": "QuadraticFit QuadraticModel quadratic_regression",
    ".nearly_kernel": "NearlyKernel nearly_kernel",
}
__all__ = _offered(__name__, _NAMES)
