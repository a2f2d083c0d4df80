"""Every picture, one function each: they take results and matplotlib axes, and return the axes."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .activation_gallery import activation_gallery as activation_gallery
    from .comparison import (
        comparison as comparison,
        deviations_by_layer as deviations_by_layer,
        deviations_by_time as deviations_by_time,
    )
    from .depth_and_width import depth_and_width as depth_and_width
    from .differential_ratios import differential_ratios as differential_ratios
    from .evidence_by_weights import evidence_by_weights as evidence_by_weights
    from .feature_laws import feature_density as feature_density, features_by_depth as features_by_depth
    from .flow_by_depth import flow_by_depth as flow_by_depth, kernel_by_depth as kernel_by_depth
    from .generalisation import along_line as along_line, generalisation_by_depth as generalisation_by_depth
    from .information import aspect_ratio_curve as aspect_ratio_curve, information_by_depth as information_by_depth
    from .law_densities import covariance_density as covariance_density, law_densities as law_densities
    from .lines import lines as lines
    from .network_graph import network_graph as network_graph
    from .phase_diagram import phase_diagram as phase_diagram
    from .posterior_bands import posterior as posterior, posterior_bands as posterior_bands
    from .ratio_of_susceptibilities import ratio_of_susceptibilities as ratio_of_susceptibilities
    from .style import STYLE as STYLE
    from .tangent_contributions import tangent_contributions as tangent_contributions
    from .tangent_ratios import tangent_ratios as tangent_ratios
    from .tokens_by_depth import norms_by_depth as norms_by_depth, tokens_by_depth as tokens_by_depth
    from .training import training as training

_NAMES = {
    ".activation_gallery": "activation_gallery",
    ".comparison": "comparison deviations_by_layer deviations_by_time",
    ".depth_and_width": "depth_and_width",
    ".differential_ratios": "differential_ratios",
    ".evidence_by_weights": "evidence_by_weights",
    ".feature_laws": "feature_density features_by_depth",
    ".flow_by_depth": "flow_by_depth kernel_by_depth",
    ".generalisation": "along_line generalisation_by_depth",
    ".information": "aspect_ratio_curve information_by_depth",
    ".law_densities": "covariance_density law_densities",
    ".lines": "lines",
    ".network_graph": "network_graph",
    ".phase_diagram": "phase_diagram",
    ".posterior_bands": "posterior posterior_bands",
    ".ratio_of_susceptibilities": "ratio_of_susceptibilities",
    ".style": "STYLE",
    ".tangent_contributions": "tangent_contributions",
    ".tangent_ratios": "tangent_ratios",
    ".tokens_by_depth": "norms_by_depth tokens_by_depth",
    ".training": "training",
}
__all__ = _offered(__name__, _NAMES)
