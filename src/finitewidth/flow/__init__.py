"""The 1/n expansion: kernels, vertices and metrics layer by layer."""

from .correlators import connected_correlator as connected_correlator, correlator as correlator
from .flow import flow as flow
from .linear import DeepLinear as DeepLinear, deep_linear as deep_linear
from .observables import (
    covariance_between_neurons as covariance_between_neurons,
    expectation_to_first_order as expectation_to_first_order,
)
from .result import Flow as Flow
