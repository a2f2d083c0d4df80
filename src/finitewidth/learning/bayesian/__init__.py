"""Bayesian inference with networks of infinite and of finite width."""

from typing import TYPE_CHECKING

from ..._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .action_form import action_form as action_form
    from .association import (
        association_couplings as association_couplings,
        variance_given_another as variance_given_another,
        variance_given_another_by_action as variance_given_another_by_action,
    )
    from .bayes import bayes as bayes
    from .compare_models import ModelComparison as ModelComparison, compare_models as compare_models
    from .evidence import (
        best_kernel_of_one as best_kernel_of_one,
        label_components as label_components,
        log_evidence as log_evidence,
        log_evidence_of_one as log_evidence_of_one,
        log_evidence_of_two as log_evidence_of_two,
    )
    from .evidence_scan import EvidenceScan as EvidenceScan, evidence_scan as evidence_scan
    from .exact_posterior import exact_posterior as exact_posterior
    from .gaussian_posterior import blocks_of_inverse as blocks_of_inverse
    from .hypotheses import (
        agrees as agrees,
        categorical_log_likelihood as categorical_log_likelihood,
        gaussian_log_likelihood as gaussian_log_likelihood,
        log_prior as log_prior,
        maximum_a_posteriori_objective as maximum_a_posteriori_objective,
        maximum_likelihood_objective as maximum_likelihood_objective,
        prior_as_ridge as prior_as_ridge,
    )

_NAMES = {
    ".action_form": "action_form",
    ".association": "association_couplings variance_given_another variance_given_another_by_action",
    ".bayes": "bayes",
    ".compare_models": "ModelComparison compare_models",
    ".evidence": "best_kernel_of_one label_components log_evidence log_evidence_of_one log_evidence_of_two",
    ".evidence_scan": "EvidenceScan evidence_scan",
    ".exact_posterior": "exact_posterior",
    ".gaussian_posterior": "blocks_of_inverse",
    ".hypotheses": (
        "agrees categorical_log_likelihood gaussian_log_likelihood log_prior maximum_a_posteriori_objective "
        "maximum_likelihood_objective prior_as_ridge"
    ),
}
__all__ = _offered(__name__, _NAMES)
