"""Activations: functions, derivatives, kinks and the closed forms known for them."""

from typing import TYPE_CHECKING

from .._lazy import offered as _offered

if TYPE_CHECKING:  # a file is loaded when a name of it is first used
    from .activation import Activation as Activation
    from .as_activation import as_activation as as_activation
    from .families import (
        ExponentialSum as ExponentialSum,
        ScaleInvariant as ScaleInvariant,
        exponential as exponential,
        leaky_relu as leaky_relu,
        monomial as monomial,
        scale_invariant as scale_invariant,
    )
    from .gaussian_average import gaussian_expectation as gaussian_expectation
    from .registry import ACTIVATIONS as ACTIVATIONS

_NAMES = {
    ".activation": "Activation",
    ".as_activation": "as_activation",
    ".families": "ExponentialSum ScaleInvariant exponential leaky_relu monomial scale_invariant",
    ".gaussian_average": "gaussian_expectation",
    ".registry": "ACTIVATIONS",
}
__all__ = _offered(__name__, _NAMES)
