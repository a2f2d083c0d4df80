"""finitewidth: the theory of neural networks of finite width and depth, as something one runs."""

from importlib.metadata import version as _version

from ._errors import (
    ArgumentError as ArgumentError,
    BlowUpError as BlowUpError,
    DomainError as DomainError,
    ShapeError as ShapeError,
    UnknownNameError as UnknownNameError,
    ValidityWarning as ValidityWarning,
)
from .activations import (
    ACTIVATIONS as ACTIVATIONS,
    Activation as Activation,
    exponential as exponential,
    leaky_relu as leaky_relu,
    monomial as monomial,
    scale_invariant as scale_invariant,
)
from .advice import tune as tune
from .criticality import (
    angle_flow as angle_flow,
    asymptotics as asymptotics,
    criticality as criticality,
    fixed_points as fixed_points,
    perturbed_pair_flow as perturbed_pair_flow,
    phase_diagram as phase_diagram,
    renormalised_C_W as renormalised_C_W,
    susceptibilities as susceptibilities,
)
from .ensembles import (
    DenseGaussian as DenseGaussian,
    LazyGaussian as LazyGaussian,
    MeasuredFlow as MeasuredFlow,
    Measurement as Measurement,
    simulate as simulate,
)
from .flow import (
    Flow as Flow,
    connected_correlator as connected_correlator,
    correlator as correlator,
    covariance_between_neurons as covariance_between_neurons,
    deep_linear as deep_linear,
    expectation_to_first_order as expectation_to_first_order,
    flow as flow,
)
from .gaussian import gaussian_expectation as gaussian_expectation
from .networks import MLP as MLP, kernel as kernel
from .report import Comparison as Comparison, Report as Report, compare as compare, report as report

__version__ = _version("finitewidth")
