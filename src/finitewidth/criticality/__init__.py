"""Criticality: how deep a signal and its fluctuations go, and how to initialise so that they go far, PDLT chapter 5."""

from .angle_moments import (
    AngleMoments as AngleMoments,
    angle_moments as angle_moments,
    corner_strength as corner_strength,
)
from .asymptotics import (
    Asymptotics as Asymptotics,
    asymptotics as asymptotics,
    semi_critical_asymptotics as semi_critical_asymptotics,
)
from .classes import (
    Criticality as Criticality,
    CriticalPoint as CriticalPoint,
    Exponents as Exponents,
    Stability as Stability,
    UniversalityClass as UniversalityClass,
)
from .classify import criticality as criticality
from .coefficients import KernelSeries as KernelSeries, kernel_series as kernel_series
from .finite_angle import AngleFlow as AngleFlow, angle_flow as angle_flow, crossover_depth as crossover_depth
from .fixed_points import FixedPoint as FixedPoint, fixed_points as fixed_points
from .gamma_basis import (
    GammaComponents as GammaComponents,
    first_layer_components as first_layer_components,
    gamma_components as gamma_components,
)
from .near_coincidence import near_coincidence_average as near_coincidence_average
from .perturbed_pair import PerturbedPair as PerturbedPair, perturbed_pair_flow as perturbed_pair_flow
from .phase_diagram import phase_diagram as phase_diagram
from .phases import CriticalLine as CriticalLine, Phase as Phase, PhaseDiagram as PhaseDiagram
from .renormalised import renormalised_C_W as renormalised_C_W
from .single_input import SingleInputFlow as SingleInputFlow, single_input_flow as single_input_flow
from .susceptibilities import Susceptibilities as Susceptibilities, susceptibilities as susceptibilities
from .tangent_angle import TangentAngleFlow as TangentAngleFlow, tangent_angle_flow as tangent_angle_flow
from .tangent_asymptotics import (
    TangentAsymptotics as TangentAsymptotics,
    TangentExponents as TangentExponents,
    tangent_asymptotics as tangent_asymptotics,
)
from .tangent_fixed_points import (
    TangentFixedPoint as TangentFixedPoint,
    tangent_fixed_points as tangent_fixed_points,
)
from .tangent_single_input import (
    TangentSingleInputFlow as TangentSingleInputFlow,
    effective_exponents as effective_exponents,
    tangent_single_input_flow as tangent_single_input_flow,
)
