"""Criticality: how deep a signal and its fluctuations go, and how to initialise so that they go far, PDLT chapter 5.

Sub-rooms import in one direction: `one_input` < `classes` < `phases`, `one_input` < `two_inputs`, and `large_depth` stands on
`classes` and `two_inputs`.
"""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .classes.classes import (
        Criticality as Criticality,
        CriticalPoint as CriticalPoint,
        Exponents as Exponents,
        Stability as Stability,
        UniversalityClass as UniversalityClass,
    )
    from .classes.renormalised import renormalised_C_W as renormalised_C_W
    from .large_depth.asymptotics import (
        Asymptotics as Asymptotics,
        asymptotics as asymptotics,
        semi_critical_asymptotics as semi_critical_asymptotics,
    )
    from .large_depth.differential_asymptotics import (
        DifferentialAsymptotics as DifferentialAsymptotics,
        DifferentialExponents as DifferentialExponents,
        ScalingLaws as ScalingLaws,
        differential_asymptotics as differential_asymptotics,
        scaling_laws as scaling_laws,
    )
    from .large_depth.residual import optimal_gamma as optimal_gamma, residual_nu as residual_nu
    from .large_depth.robustness import (
        RobustnessAsymptotics as RobustnessAsymptotics,
        robustness_asymptotics as robustness_asymptotics,
    )
    from .large_depth.tangent_asymptotics import (
        TangentAsymptotics as TangentAsymptotics,
        TangentExponents as TangentExponents,
        decay_exponents as decay_exponents,
        tangent_asymptotics as tangent_asymptotics,
    )
    from .large_depth.with_skips import criticality as criticality
    from .one_input.coefficients import Growth as Growth, KernelSeries as KernelSeries, kernel_series as kernel_series
    from .one_input.differential_single_input import (
        DifferentialRatios as DifferentialRatios,
        DifferentialSingleInputFlow as DifferentialSingleInputFlow,
        differential_single_input_flow as differential_single_input_flow,
    )
    from .one_input.single_input import SingleInputFlow as SingleInputFlow, single_input_flow as single_input_flow
    from .one_input.susceptibilities import Susceptibilities as Susceptibilities, susceptibilities as susceptibilities
    from .one_input.tangent_averages import TangentAverages as TangentAverages, tangent_averages as tangent_averages
    from .one_input.tangent_closed import constant_kernel as constant_kernel
    from .one_input.tangent_single_input import (
        Ratios as Ratios,
        TangentSingleInputFlow as TangentSingleInputFlow,
        TangentSource as TangentSource,
        effective_exponents as effective_exponents,
        tangent_single_input_flow as tangent_single_input_flow,
        tangent_source as tangent_source,
    )
    from .phases.fixed_points import FixedPoint as FixedPoint, fixed_points as fixed_points
    from .phases.phase_diagram import phase_diagram as phase_diagram
    from .phases.phases import CriticalLine as CriticalLine, Phase as Phase, PhaseDiagram as PhaseDiagram
    from .phases.tangent_fixed_points import (
        TangentFixedPoint as TangentFixedPoint,
        tangent_fixed_points as tangent_fixed_points,
    )
    from .two_inputs.angle_moments import (
        AngleMoments as AngleMoments,
        angle_moments as angle_moments,
        corner_strength as corner_strength,
    )
    from .two_inputs.finite_angle import (
        AngleFlow as AngleFlow,
        angle_flow as angle_flow,
        crossover_depth as crossover_depth,
    )
    from .two_inputs.gamma_basis import (
        GammaComponents as GammaComponents,
        first_layer_components as first_layer_components,
        gamma_components as gamma_components,
    )
    from .two_inputs.near_coincidence import near_coincidence_average as near_coincidence_average
    from .two_inputs.perturbed_pair import PerturbedPair as PerturbedPair, perturbed_pair_flow as perturbed_pair_flow
    from .two_inputs.tangent_angle import TangentAngleFlow as TangentAngleFlow, tangent_angle_flow as tangent_angle_flow
    from .two_inputs.tangent_pair import TangentPair as TangentPair, tangent_pair_flow as tangent_pair_flow

_NAMES = {
    ".classes.classes": "Criticality CriticalPoint Exponents Stability UniversalityClass",
    ".classes.renormalised": "renormalised_C_W",
    ".large_depth.asymptotics": "Asymptotics asymptotics semi_critical_asymptotics",
    ".large_depth.differential_asymptotics": (
        "DifferentialAsymptotics DifferentialExponents ScalingLaws differential_asymptotics scaling_laws"
    ),
    ".large_depth.residual": "optimal_gamma residual_nu",
    ".large_depth.robustness": "RobustnessAsymptotics robustness_asymptotics",
    ".large_depth.tangent_asymptotics": "TangentAsymptotics TangentExponents decay_exponents tangent_asymptotics",
    ".large_depth.with_skips": "criticality",
    ".one_input.coefficients": "Growth KernelSeries kernel_series",
    ".one_input.differential_single_input": (
        "DifferentialRatios DifferentialSingleInputFlow differential_single_input_flow"
    ),
    ".one_input.single_input": "SingleInputFlow single_input_flow",
    ".one_input.susceptibilities": "Susceptibilities susceptibilities",
    ".one_input.tangent_averages": "TangentAverages tangent_averages",
    ".one_input.tangent_closed": "constant_kernel",
    ".one_input.tangent_single_input": (
        "Ratios TangentSingleInputFlow TangentSource effective_exponents tangent_single_input_flow tangent_source"
    ),
    ".phases.fixed_points": "FixedPoint fixed_points",
    ".phases.phase_diagram": "phase_diagram",
    ".phases.phases": "CriticalLine Phase PhaseDiagram",
    ".phases.tangent_fixed_points": "TangentFixedPoint tangent_fixed_points",
    ".two_inputs.angle_moments": "AngleMoments angle_moments corner_strength",
    ".two_inputs.finite_angle": "AngleFlow angle_flow crossover_depth",
    ".two_inputs.gamma_basis": "GammaComponents first_layer_components gamma_components",
    ".two_inputs.near_coincidence": "near_coincidence_average",
    ".two_inputs.perturbed_pair": "PerturbedPair perturbed_pair_flow",
    ".two_inputs.tangent_angle": "TangentAngleFlow tangent_angle_flow",
    ".two_inputs.tangent_pair": "TangentPair tangent_pair_flow",
}
__all__ = _offered(__name__, _NAMES)
