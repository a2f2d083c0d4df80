"""The 1/n expansion: kernels, vertices and metrics layer by layer."""

from .correlators import connected_correlator as connected_correlator, correlator as correlator
from .exact_tangent import ExactTangentFlow as ExactTangentFlow, exact_tangent_flow as exact_tangent_flow
from .flow import flow as flow
from .linear import DeepLinear as DeepLinear, deep_linear as deep_linear
from .observables import (
    covariance_between_neurons as covariance_between_neurons,
    expectation_to_first_order as expectation_to_first_order,
)
from .result import Flow as Flow
from .tangent_correlators import (
    averaged_tangent_covariance as averaged_tangent_covariance,
    observable_with_tangent as observable_with_tangent,
    tangent_correlator as tangent_correlator,
    tangent_preactivation_correlator as tangent_preactivation_correlator,
)
from .tangent_layers import (
    TangentContributions as TangentContributions,
    tangent_contributions as tangent_contributions,
)
from .weight_insertions import (
    two_weight_insertions as two_weight_insertions,
    weight_generating_function as weight_generating_function,
)
