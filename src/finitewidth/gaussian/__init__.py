"""Expectations under Gaussians and nearly Gaussian laws."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .actions import CouplingSizes as CouplingSizes, EvenAction as EvenAction
    from .checked import (
        line_average as line_average,
        pair_moment as pair_moment,
        square_average as square_average,
        two_slope_average as two_slope_average,
    )
    from .cumulants import (
        connected_from_even_moments as connected_from_even_moments,
        connected_from_moments as connected_from_moments,
        moments_from_connected as moments_from_connected,
        sample_cumulants as sample_cumulants,
    )
    from .function import Function as Function
    from .nearly_gaussian import (
        covariance_between_neurons as covariance_between_neurons,
        density as density,
        density_correction as density_correction,
        expectation as expectation,
        marginalise_samples as marginalise_samples,
    )
    from .products import product_moment as product_moment
    from .sign_pairs import sign_pair_moments as sign_pair_moments, sign_pairs as sign_pairs
    from .wick import (
        gaussian_log_density as gaussian_log_density,
        gaussian_moment as gaussian_moment,
        log_normaliser as log_normaliser,
        log_source_generating_function as log_source_generating_function,
        pairings as pairings,
        wick_moment as wick_moment,
    )

_NAMES = {
    ".actions": "CouplingSizes EvenAction",
    ".checked": "line_average pair_moment square_average two_slope_average",
    ".cumulants": "connected_from_even_moments connected_from_moments moments_from_connected sample_cumulants",
    ".function": "Function",
    ".nearly_gaussian": "covariance_between_neurons density density_correction expectation marginalise_samples",
    ".products": "product_moment",
    ".sign_pairs": "sign_pair_moments sign_pairs",
    ".wick": "gaussian_log_density gaussian_moment log_normaliser log_source_generating_function pairings wick_moment",
}
__all__ = _offered(__name__, _NAMES)
