"""Learning: what training does to a network and its kernels, and what networks that agree with data believe."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .bayesian import (
        EvidenceScan as EvidenceScan,
        ModelComparison as ModelComparison,
        action_form as action_form,
        agrees as agrees,
        association_couplings as association_couplings,
        bayes as bayes,
        best_kernel_of_one as best_kernel_of_one,
        blocks_of_inverse as blocks_of_inverse,
        categorical_log_likelihood as categorical_log_likelihood,
        compare_models as compare_models,
        evidence_scan as evidence_scan,
        exact_posterior as exact_posterior,
        gaussian_log_likelihood as gaussian_log_likelihood,
        label_components as label_components,
        log_evidence as log_evidence,
        log_evidence_of_one as log_evidence_of_one,
        log_evidence_of_two as log_evidence_of_two,
        log_prior as log_prior,
        maximum_a_posteriori_objective as maximum_a_posteriori_objective,
        maximum_likelihood_objective as maximum_likelihood_objective,
        prior_as_ridge as prior_as_ridge,
        variance_given_another as variance_given_another,
        variance_given_another_by_action as variance_given_another_by_action,
    )
    from .bayesian.regressor import BayesianNetworkRegressor as BayesianNetworkRegressor
    from .end_of_training import (
        AlgorithmProjectors as AlgorithmProjectors,
        FinitePrediction as FinitePrediction,
        Leap as Leap,
        OnePrediction as OnePrediction,
        Trust as Trust,
        algorithm_projectors as algorithm_projectors,
        leap as leap,
        predict_one as predict_one,
        taylor_outputs as taylor_outputs,
    )
    from .kernel import (
        GeneralisationError as GeneralisationError,
        Line as Line,
        LineSeries as LineSeries,
        OneToOne as OneToOne,
        OptimalStopping as OptimalStopping,
        PenultimateStep as PenultimateStep,
        fit_linear_model as fit_linear_model,
        gaussian_kernel as gaussian_kernel,
        generalisation_error as generalisation_error,
        kernel_regression as kernel_regression,
        last_layer_only as last_layer_only,
        line_series as line_series,
        linear_kernel as linear_kernel,
        one_to_one as one_to_one,
        optimal_stopping as optimal_stopping,
        penultimate_step as penultimate_step,
        predict as predict,
        predict_along_line as predict_along_line,
        random_features as random_features,
        regularisation_correlation as regularisation_correlation,
        regularisation_tensor as regularisation_tensor,
        rescaled_targets as rescaled_targets,
        smooth_labels as smooth_labels,
        tangent_features as tangent_features,
    )
    from .kernel.classifier import KernelNetworkClassifier as KernelNetworkClassifier
    from .kernel.regressor import KernelNetworkRegressor as KernelNetworkRegressor
    from .losses import LOSSES as LOSSES, Loss as Loss
    from .quadratic import (
        FeatureCount as FeatureCount,
        NearlyKernel as NearlyKernel,
        PolynomialFit as PolynomialFit,
        QuadraticFit as QuadraticFit,
        QuadraticModel as QuadraticModel,
        couplings_at_order as couplings_at_order,
        feature_count as feature_count,
        nearly_kernel as nearly_kernel,
        polynomial_fit as polynomial_fit,
        quadratic_regression as quadratic_regression,
    )
    from .step import (
        gradient_step as gradient_step,
        predicted_change as predicted_change,
        predicted_loss_change as predicted_loss_change,
    )
    from .training import LazyWeights as LazyWeights, TrainedNetworks as TrainedNetworks, train as train

_NAMES = {
    ".bayesian": (
        "EvidenceScan ModelComparison action_form agrees association_couplings bayes best_kernel_of_one "
        "blocks_of_inverse categorical_log_likelihood compare_models evidence_scan exact_posterior "
        "gaussian_log_likelihood label_components log_evidence log_evidence_of_one log_evidence_of_two log_prior "
        "maximum_a_posteriori_objective maximum_likelihood_objective prior_as_ridge variance_given_another "
        "variance_given_another_by_action"
    ),
    ".bayesian.regressor": "BayesianNetworkRegressor",
    ".end_of_training": (
        "AlgorithmProjectors FinitePrediction Leap OnePrediction Trust algorithm_projectors leap predict_one "
        "taylor_outputs"
    ),
    ".kernel": (
        "GeneralisationError Line LineSeries OneToOne OptimalStopping PenultimateStep fit_linear_model "
        "gaussian_kernel generalisation_error kernel_regression last_layer_only line_series linear_kernel one_to_one "
        "optimal_stopping penultimate_step predict predict_along_line random_features regularisation_correlation "
        "regularisation_tensor rescaled_targets smooth_labels tangent_features"
    ),
    ".kernel.classifier": "KernelNetworkClassifier",
    ".kernel.regressor": "KernelNetworkRegressor",
    ".losses": "LOSSES Loss",
    ".quadratic": (
        "FeatureCount NearlyKernel PolynomialFit QuadraticFit QuadraticModel couplings_at_order feature_count "
        "nearly_kernel polynomial_fit quadratic_regression"
    ),
    ".step": "gradient_step predicted_change predicted_loss_change",
    ".training": "LazyWeights TrainedNetworks train",
}
_NEEDS_SKLEARN = ("Regressor", "Classifier")
__all__ = [name for name in _offered(__name__, _NAMES) if not name.endswith(_NEEDS_SKLEARN)]
