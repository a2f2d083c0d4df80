"""Learning at infinite width: the frozen tangent kernel decides all, PDLT chapter 10."""

from typing import TYPE_CHECKING

from ..._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .bias_and_variance import (
        GeneralisationError as GeneralisationError,
        generalisation_error as generalisation_error,
    )
    from .features import random_features as random_features, tangent_features as tangent_features
    from .generalisation import OptimalStopping as OptimalStopping, optimal_stopping as optimal_stopping
    from .interpolation import (
        Line as Line,
        LineSeries as LineSeries,
        line_series as line_series,
        predict_along_line as predict_along_line,
    )
    from .linear_model import (
        fit_linear_model as fit_linear_model,
        gaussian_kernel as gaussian_kernel,
        kernel_regression as kernel_regression,
        linear_kernel as linear_kernel,
    )
    from .one_to_one import OneToOne as OneToOne, last_layer_only as last_layer_only, one_to_one as one_to_one
    from .penultimate_step import PenultimateStep as PenultimateStep, penultimate_step as penultimate_step
    from .predict import predict as predict
    from .regularisation import (
        regularisation_correlation as regularisation_correlation,
        regularisation_tensor as regularisation_tensor,
    )
    from .targets import rescaled_targets as rescaled_targets, smooth_labels as smooth_labels

_NAMES = {
    ".bias_and_variance": "GeneralisationError generalisation_error",
    ".features": "random_features tangent_features",
    ".generalisation": "OptimalStopping optimal_stopping",
    ".interpolation": "Line LineSeries line_series predict_along_line",
    ".linear_model": "fit_linear_model gaussian_kernel kernel_regression linear_kernel",
    ".one_to_one": "OneToOne last_layer_only one_to_one",
    ".penultimate_step": "PenultimateStep penultimate_step",
    ".predict": "predict",
    ".regularisation": "regularisation_correlation regularisation_tensor",
    ".targets": "rescaled_targets smooth_labels",
}
__all__ = _offered(__name__, _NAMES)
