"""Learning: what training does to a network and its kernels."""

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
from .kernel import predict as predict, smooth_labels as smooth_labels
from .losses import LOSSES as LOSSES, Loss as Loss
from .step import (
    gradient_step as gradient_step,
    predicted_change as predicted_change,
    predicted_loss_change as predicted_loss_change,
)
