"""The 1/n expansion: kernels, vertices and metrics layer by layer, and what follows from them for a few neurons."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .correlators import connected_correlator as connected_correlator, correlator as correlator
    from .differential_correlators import (
        differential_correlator as differential_correlator,
        mean_second_order_shift as mean_second_order_shift,
        mean_tangent_change as mean_tangent_change,
        observable_with_differential as observable_with_differential,
        second_differential_mean as second_differential_mean,
    )
    from .flow import flow as flow
    from .metric_fluctuations import (
        coupling_trend as coupling_trend,
        expanded_determinant as expanded_determinant,
        expanded_exponential as expanded_exponential,
        expanded_inverse as expanded_inverse,
        interlayer_log_density as interlayer_log_density,
        joint_log_density as joint_log_density,
        layer_log_density as layer_log_density,
    )
    from .observables import (
        covariance_between_neurons as covariance_between_neurons,
        expectation_to_first_order as expectation_to_first_order,
    )
    from .running_couplings import (
        effective_action as effective_action,
        marginalise_neurons as marginalise_neurons,
        metric_from_couplings as metric_from_couplings,
        quadratic_coupling as quadratic_coupling,
        quartic_coupling as quartic_coupling,
        running_metric as running_metric,
        vertex_from_couplings as vertex_from_couplings,
    )
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
        one_weight_insertion as one_weight_insertion,
        three_weight_insertions as three_weight_insertions,
        two_weight_insertions as two_weight_insertions,
        weight_generating_function as weight_generating_function,
    )

_NAMES = {
    ".correlators": "connected_correlator correlator",
    ".differential_correlators": (
        "differential_correlator mean_second_order_shift mean_tangent_change observable_with_differential "
        "second_differential_mean"
    ),
    ".flow": "flow",
    ".metric_fluctuations": (
        "coupling_trend expanded_determinant expanded_exponential expanded_inverse interlayer_log_density "
        "joint_log_density layer_log_density"
    ),
    ".observables": "covariance_between_neurons expectation_to_first_order",
    ".running_couplings": (
        "effective_action marginalise_neurons metric_from_couplings quadratic_coupling quartic_coupling "
        "running_metric vertex_from_couplings"
    ),
    ".tangent_correlators": (
        "averaged_tangent_covariance observable_with_tangent tangent_correlator tangent_preactivation_correlator"
    ),
    ".tangent_layers": "TangentContributions tangent_contributions",
    ".weight_insertions": (
        "one_weight_insertion three_weight_insertions two_weight_insertions weight_generating_function"
    ),
}
__all__ = _offered(__name__, _NAMES)
