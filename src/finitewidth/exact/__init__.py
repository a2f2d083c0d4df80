"""Networks that are solved exactly at every width: linear ones, and one input of scale-invariant ones."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .linear import (
        DeepLinear as DeepLinear,
        LinearPhase as LinearPhase,
        deep_linear as deep_linear,
        linear_phase as linear_phase,
    )
    from .linear_correlators import (
        linear_connected_correlator as linear_connected_correlator,
        linear_correlator as linear_correlator,
    )
    from .moment_ratios import (
        c_2m as c_2m,
        fixed_ratio_connected as fixed_ratio_connected,
        fixed_ratio_moment as fixed_ratio_moment,
        moment_ratio as moment_ratio,
    )
    from .scale_invariant import (
        ScaleInvariantFlow as ScaleInvariantFlow,
        log_kernel_statistics as log_kernel_statistics,
        sample_scale_invariant as sample_scale_invariant,
        scale_invariant_flow as scale_invariant_flow,
    )
    from .tangent import ExactTangentFlow as ExactTangentFlow, exact_tangent_flow as exact_tangent_flow
    from .typical import typical_scale_invariant as typical_scale_invariant

_NAMES = {
    ".linear": "DeepLinear LinearPhase deep_linear linear_phase",
    ".linear_correlators": "linear_connected_correlator linear_correlator",
    ".moment_ratios": "c_2m fixed_ratio_connected fixed_ratio_moment moment_ratio",
    ".scale_invariant": "ScaleInvariantFlow log_kernel_statistics sample_scale_invariant scale_invariant_flow",
    ".tangent": "ExactTangentFlow exact_tangent_flow",
    ".typical": "typical_scale_invariant",
}
__all__ = _offered(__name__, _NAMES)
